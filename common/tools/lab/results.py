"""Results for people, and for Gradescope and what reads the same."""

import textwrap

WORDS = {True: "ok", False: "FAILS", None: "-"}


def number(value):
    return f"{value:.1f}".removesuffix(".0")


def text(results):
    """The report of all tasks, without colour, at most 100 columns wide."""
    lines = []
    for result in results:
        head = f"{result.task.name}: {'passed' if result.passed else 'not passed'}"
        lines.append(f"{head}, {number(result.score)} of {number(result.points)} points")
        for part in result.parts:
            lead = f"  {part.name:<10}{WORDS[part.passed]:<7}"
            lines += textwrap.wrap(part.reason, 100, initial_indent=lead, subsequent_indent=" " * 19)
            if part.next_step:
                lines += textwrap.wrap(part.next_step, 100, initial_indent=" " * 19 + "-> ", subsequent_indent=" " * 22)
        lines.append("")
    return "\n".join(lines)


def gradescope(results, seconds):
    """An object in the format of Gradescope's results.json."""
    tests = [
        {
            "name": f"{result.task.name}: {part.name}",
            "score": round(part.score, 3),
            "max_score": round(part.points, 3),
            "status": "failed" if part.passed is False else "passed",
            "output": (f"not judged here: {part.reason}" if part.passed is None else part.reason)
            + (f"\nNext: {part.next_step}" if part.next_step else ""),
        }
        for result in results
        for part in result.parts
    ]
    return {
        "score": round(sum(result.score for result in results), 3),
        "output": "all tasks passed" if all(result.passed for result in results) else "not all tasks passed",
        "execution_time": round(seconds),
        "stdout_visibility": "hidden",
        "tests": tests,
    }
