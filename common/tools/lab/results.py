"""Results for people, and for Gradescope and what reads the same."""

import textwrap

WORDS = {True: "ok", False: "FAILS", None: "-"}


def number(value):
    return f"{value:.1f}".removesuffix(".0")


def part_text(part):
    """A part as soon as it is judged, without colour, at most 100 columns wide but for what is to be pasted."""
    seconds = "" if part.seconds is None else f"{part.seconds:.0f} s"
    lead, indent = f"  {part.name:<10}{WORDS[part.passed]:<6}{seconds:>5}  ", " " * 25
    lines = textwrap.wrap(part.reason, 100, initial_indent=lead, subsequent_indent=indent)
    lines += [indent + line for line in part.picture.splitlines()]
    if part.next_step:
        lines += textwrap.wrap(part.next_step, 100, initial_indent=f"{indent}-> ", subsequent_indent=f"{indent}   ")
    if part.command:
        lines.append(f"    $ {part.command}")
    return "\n".join(lines)


def verdict(result):
    """What a task's parts come to."""
    said = "passed" if result.passed else "not passed"
    return f"{result.task.name}: {said}, {number(result.score)} of {number(result.points)} points\n"


def gradescope(results, seconds):
    """An object in the format of Gradescope's results.json."""
    tests = [
        {
            "name": f"{result.task.name}: {part.name}",
            "score": round(part.score, 3),
            "max_score": round(part.points, 3),
            "status": "failed" if part.passed is False else "passed",
            "output": (f"not judged here: {part.reason}" if part.passed is None else part.reason)
            + (f"\n{part.picture}" if part.picture else "")
            + (f"\nNext: {part.next_step}" if part.next_step else "")
            + (f"\nShows it again: {part.command}" if part.command else ""),
        }
        for result in results
        for part in result.parts
    ]
    # Of a time, less is better; the platform shows names only to those who may see them.
    leaders = [
        {"name": f"{result.task.name}: {part.unit}", "value": part.value, "order": "asc"}
        for result in results
        for part in result.parts
        if part.value is not None and part.passed
    ]
    return {
        "score": round(sum(result.score for result in results), 3),
        "output": "all tasks passed" if all(result.passed for result in results) else "not all tasks passed",
        "execution_time": round(seconds),
        "stdout_visibility": "hidden",
        "tests": tests,
    } | ({"leaderboard": leaders} if leaders else {})
