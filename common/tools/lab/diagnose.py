"""What the tests and tools found, in the words of who wrote a kernel: which lines, which barrier, which index."""

import re
from dataclasses import dataclass

from lab.sandbox import MOST_OUTPUT

FRAME = re.compile(
    r"^ +#\d+ (?P<call>.+?) (?:/\S*/)?(?:rewritten|tree)/(?P<file>[^\s:]+?\.(?:cu|cuh|hpp))(?:\.cpp)?:(?P<line>\d+)",
    re.M,
)
PLACE = re.compile(r"(?:/\S*/)?(?:rewritten|tree)/(?P<file>[^\s:]+?\.(?:cu|cuh|hpp))(?:\.cpp)?:(?P<line>\d+)")
KERNEL = re.compile(r"__global__\s+void\s+(?:__launch_bounds__\([^)]*\)\s*)?(\w+)\s*\(")
THREAD = r"block \((?P<block>[\d,]+)\) thread \((?P<thread>[\d,]+)\)"


@dataclass
class Finding(Exception):
    """What is wrong, and what to do next."""

    reason: str
    next_step: str = ""
    command: str = ""  # shows it again; the one that was run last, if none is given
    picture: str = ""  # of where it is wrong


class WrittenTwice(Finding):
    """Two threads write the same place, and nobody reads it before the next barrier."""


class Source:
    """The student's files, to show lines of."""

    def __init__(self, files):
        self.lines = {name: content.decode(errors="replace").splitlines() for name, content in files.items()}

    def place(self, file, number):
        """'line 57 (tile[i] = now[j];)'; with the file's name if it is not update.cu."""
        lines, number = self.lines.get(file, []), int(number)
        name = "" if file.endswith("/update.cu") else f" of {file}"
        text = lines[number - 1].split("//")[0].strip() if 0 < number <= len(lines) else ""
        return f"line {number}{name}" + (f" ({text})" if text else "")

    def barriers(self, file):
        """{line: what it calls}"""
        call = re.compile(r"__syncthreads|__syncwarp|\.sync\(|\.wait\(")
        found = {n: call.search(line.split("//")[0]) for n, line in enumerate(self.lines.get(file, []), 1)}
        return {n: match[0] for n, match in found.items() if match}

    def around(self, file):
        """{line: the statements that it stands in, outermost first, each ("if" or "loop", its line)}"""
        try:
            return enclosing("\n".join(line.split("//")[0] for line in self.lines.get(file, [])))
        except IndexError:  # macros may hide a brace
            return {}

    def own_frame(self, stack):
        """The innermost frame of a stack that lies in the student's files."""
        frames = list(FRAME.finditer(stack))
        own = [frame for frame in frames if frame["file"] in self.lines]
        return (own or frames or [None])[0]

    def kernel_line(self, stack):
        """The line of the kernel itself, which may have called what touches the memory."""
        kernels = "|".join(name for lines in self.lines.values() for name in KERNEL.findall("\n".join(lines)))
        call = re.compile(rf"(^|::|\s)({kernels})(<[^(]*)?(\(|$)")
        own = [frame for frame in FRAME.finditer(stack) if frame["file"] in self.lines and call.search(frame["call"])]
        return int(own[-1]["line"]) if own else None  # the outermost: a lambda of the kernel has its name, too


def enclosing(code):
    """Of each line of C++ the conditions and loops that it stands in, outermost first: [("if" or "loop", line), ...]"""
    kinds = {"if": "if", "else": "if", "switch": "if", "for": "loop", "while": "loop", "do": "loop"}
    code = re.sub(r"/\*.*?\*/", lambda match: "\n" * match[0].count("\n"), code, flags=re.DOTALL)
    code = re.sub(r"^[ \t]*#.*$", "", code, flags=re.MULTILINE)
    words = [
        (match[0], code.count("\n", 0, match.start()) + 1)
        for match in re.finditer(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'|\w+|\S', code)
    ]
    words.append(("", 0))
    found = {}

    def note(i, within):
        line = words[i][1]
        if len(within) > len(found.get(line, ())):
            found[line] = within

    def parentheses(i, within):
        depth = 0
        while True:
            depth += {"(": 1, ")": -1}.get(words[i][0], 0)
            note(i, within)
            i += 1
            if depth == 0:
                return i

    def statement(i, within):
        """Returns where the next one begins."""
        word, line = words[i]
        if word == "{":
            return block(i, within)
        if word in kinds:
            inside = (*within, (kinds[word], line))
            i += 1
            if words[i][0] == "constexpr":
                i += 1
            if words[i][0] == "(":
                i = parentheses(i, within)
            return statement(i, inside)
        while words[i][0] not in (";", "}", ""):
            note(i, within)
            i = block(i, within) if words[i][0] == "{" else i + 1
            if words[i - 1][0] == "}" and words[i][0] not in (";", ")", ",", "("):
                return i
        return i + 1 if words[i][0] == ";" else i

    def block(i, within):
        i += 1
        while words[i][0] != "}":
            if not words[i][0]:
                raise IndexError
            i = statement(i, within)
        return i + 1

    i = 0
    while words[i][0]:
        i = max(statement(i, ()), i + 1)
    return found


def compiler(text, source, who=""):
    """The first error of a build, and how many there are. `who`: if it is another compiler than the CPU path's."""
    refuses = f"{who} refuses it" if who else "it does not compile"
    errors = re.findall(r"^(\S+?):(\d+)(?::\d+)?: (?:fatal )?error: (.+)$", text, re.M)
    errors += re.findall(r"^(\S+?)\((\d+)\): error: (.+)$", text, re.M)
    if errors:
        file, line, message = errors[0]
        place = PLACE.search(f"{file}:{line}")
        where = source.place(place["file"], line) if place else f"{file}:{line}"
        more = f", and {len(errors) - 1} more error{'s' * (len(errors) > 2)}" if len(errors) > 1 else ""
        reason = f"{refuses}: {where}: {message}{more}"
        return Finding(reason, "mend the first error first; others may follow from it")
    if assembler := re.search(r"^ptxas (?:error|fatal)\s*: (.+)$", text, re.M):
        return Finding(f"{refuses}: {assembler[1]}", "fewer registers, or less shared memory with a fixed size")
    rewriter = re.search(r"^.*(rewrite_launches|update\.cu):.*$", text, re.M)
    undefined = re.search(r"undefined reference to [`'](?P<name>.+)'", text)
    if undefined:
        reason = f"it does not link: nothing defines {undefined['name']}"
        return Finding(reason, "write it, or keep make_simulation as it was")
    if rewriter:
        return Finding(f"it does not compile: {rewriter[0].strip()[-200:]}")
    return Finding("it does not build: " + (text.strip().splitlines() or ["no message"])[-1][:300])


def race(text, source):
    """The first data race of a ThreadSanitizer report."""
    report = text[text.index("WARNING: ThreadSanitizer: data race") :]
    begin = r"^  (?=(?:Previous |Atomic |\[failed)?(?:atomic )?(?:[wW]rite|[rR]ead) of size)"
    found = []
    for stack in re.split(begin, report, flags=re.M)[1:3]:
        stack = stack.split("\n\n")[0]
        kind = "writes" if re.match(r"(Previous )?(atomic )?write", stack, re.I) else "reads"
        found.append((kind, source.own_frame(stack), source.kernel_line(stack)))
    if len(found) < 2 or not (found[0][1] and found[1][1]):
        lines = sorted({source.place(frame["file"], frame["line"]) for frame in FRAME.finditer(report)})
        reason = f"a race: {' and '.join(lines[:2]) or report.splitlines()[0]}"
        return Finding(reason, "two threads touch the same place at once, and one of them writes")
    if found[0][0] == "reads":  # the one that writes first
        found.reverse()
    (_, write, write_in), (other, access, access_in) = found
    here, there = source.place(write["file"], write["line"]), source.place(access["file"], access["line"])
    verb = "reads" if other == "reads" else "overwrites"
    if here == there:
        reason = f"a race: {here} writes where another thread {verb} at the same line"
    else:
        reason = f"a race: {here} writes what another thread {verb} at {there}, with no barrier between"
    where = re.search(r"^the race is in (\w+) memory", report.split("WARNING: ThreadSanitizer", 2)[1], re.M)
    if other == "writes":
        step = "two threads own the same place: is an index swapped, or a row of the tile too short?"
        return WrittenTwice(reason, step)
    if where and where[1] != "shared":
        step = "device memory: no barrier keeps blocks apart. Write to another array than the one that is read"
        return Finding(reason, step)
    file = write["file"]
    return Finding(reason, barrier_for(write_in, access_in, source.barriers(file), source.around(file)))


def races(text, source):
    """All races of a run that went on after the first."""
    begin = "WARNING: ThreadSanitizer: data race"
    return [race(begin + report, source) for report in text.split(begin)[1:]]


def barrier_for(write, access, barriers, around):
    """Where a barrier would have to stand in a kernel that writes shared memory in one line, and uses it in another.
    `barriers`: {line: what it calls}; `around`: {line: what it stands in}"""
    if not write or not access or write == access:
        return "shared memory: a __syncthreads() has to stand between the two; in a loop, one in every turn"
    first, last = sorted((write, access))
    step = f"shared memory: a __syncthreads() has to stand between line {first} and line {last}"
    between = [line for line in barriers if first < line < last]
    if not between:
        return step + (": all must have read before one overwrites" if access < write else "")
    line = between[0]
    common = set(around.get(write, ())) & set(around.get(access, ()))
    own = [outer for outer in around.get(line, ()) if outer not in common]
    if barriers[line] == "__syncwarp":
        return f"shared memory: line {line} waits for a warp, 32 threads; the block needs a __syncthreads() there"
    for kind, number in own:
        if kind == "if":
            return (
                f"shared memory: the barrier in line {line} stands under the condition in line {number}, "
                "and nobody waits where that is false. All threads of every block must come to it"
            )
        return (
            f"shared memory: the barrier in line {line} is in the loop of line {number}, and who leaves that earlier "
            "waits for nobody. Put a barrier behind the loop, to which all come"
        )
    loops = [number for kind, number in around.get(write, ()) if kind == "loop" and (kind, number) in common]
    if loops:  # so it is the way back
        return (
            f"shared memory: the barrier in line {line} keeps them apart once; "
            f"the loop in line {loops[-1]} needs another at its end"
        )
    return f"shared memory: not all threads come to the barrier in line {line}: does one return before it?"


def memory(text, source):
    """The first complaint of AddressSanitizer or UndefinedBehaviorSanitizer."""
    ub = re.search(r"^(?P<at>\S+?):(?P<line>\d+):\d+: runtime error: (?P<what>.+)$", text, re.M)
    asan = re.search(r"AddressSanitizer: (?P<kind>[\w-]+)", text)
    if ub and not (asan and asan.start() < ub.start()):
        place = PLACE.search(f"{ub['at']}:{ub['line']}")
        where = source.place(place["file"], ub["line"]) if place else f"{ub['at']}:{ub['line']}"
        frame = source.own_frame(text[ub.end() :])
        if frame and not (place and place["file"] in source.lines):
            where = source.place(frame["file"], frame["line"])
        step = "which values can the index take, for the first thread and for the last?"
        return Finding(f"{where}: {ub['what']}", step)
    if not asan:
        return None
    if asan["kind"] == "SEGV" or asan["kind"] in SIGNALS:
        return crashed(asan["kind"], text[asan.start() :], source)
    kinds = {
        "attempting": "what was freed already, or is no array",
        "double-free": "what was freed already",
        "stack-use-after-scope": "a local variable that is gone",
        "stack-use-after-return": "a local variable that is gone",
        "stack-buffer-underflow": "before a local array",
        "dynamic-stack-buffer-overflow": "beyond a local array",
        "stack-overflow": "more than a thread has for local variables: is there a recursion without end?",
        "heap-buffer-overflow": "beyond the end of an array in device memory",
        "heap-use-after-free": "an array that was freed",
        "use-after-poison": "beyond an array, in device memory or in the block's shared memory",
        "unknown-crash": "beyond an array, in device memory or in the block's shared memory",  # of less than 8 bytes
        "stack-buffer-overflow": "beyond a local array",
        "global-buffer-overflow": "beyond a static or __constant__ array",
    }
    access = re.search(r"^(?P<kind>READ|WRITE) of size (?P<size>\d+)", text, re.M)
    frame = source.own_frame(text[asan.start() :])
    where = source.place(frame["file"], frame["line"]) if frame else "somewhere"
    does = {"READ": "reads", "WRITE": "writes"}.get(access["kind"] if access else "", "touches")
    size = f" {access['size']} bytes" if access else ""
    what = kinds.get(asan["kind"], asan["kind"])
    step = "which index is too large (or negative), and for which thread? Print it, or stop at it"
    if asan["kind"] in UNTOUCHABLE and any("memcpy_async" in line for lines in source.lines.values() for line in lines):
        what += ", or what an asynchronous copy has yet to bring"
        step += "; or does nobody wait for the copy?"
    return Finding(f"{where} {does}{size} {what}", step)


UNTOUCHABLE = ("use-after-poison", "unknown-crash")  # what the CPU path says of shared memory
SIGNALS = {
    "FPE": "divides an integer by zero",
    "BUS": "touches an address that does not exist",
    "ILL": "ends in a trap",
}


def crashed(kind, text, source):
    """What a sanitizer says of a program that a signal ended."""
    frame = source.own_frame(text)
    where = source.place(frame["file"], frame["line"]) if frame else "the program"
    if kind in SIGNALS:
        return Finding(f"{where} {SIGNALS[kind]}", "for which thread, and with which values?")
    address = int((re.search(r"unknown address 0x([0-9a-f]+)", text) or ["", "1000"])[1], 16)
    does = {"READ": "reads", "WRITE": "writes"}
    access = re.search(r"caused by a (READ|WRITE)", text)
    verb = does[access[1]] if access else "touches"
    if address < 4096:
        reason = f"{where} {verb} through a null pointer"
        return Finding(reason, "which pointer was never set? Is it one of the kernel's arguments?")
    reason = f"{where} {verb} far outside every array"
    return Finding(reason, "which index is far too large, negative, or was never set? Or did a product overflow?")


def ended(run, source, doing):
    """Why a program did not end as it should; None if it did, with code 0 or the 1 of a failed test."""
    if run.timed_out:
        step = "is there a loop without end, in the kernel or around it?"
        return Finding(f"{doing} did not end within {run.seconds:.0f} s", step)
    if run.signal == "SIGXFSZ":
        reason = f"{doing} printed more than {MOST_OUTPUT >> 20} MB, and was ended"
        return Finding(reason, "take your own output out: a printf in a kernel is done by every thread")
    if "WARNING: ThreadSanitizer: data race" in run.stderr:
        return race(run.stderr, source)
    if crash := re.search(r"ERROR: ThreadSanitizer: (?P<kind>[\w-]+)", run.stderr):
        return crashed(crash["kind"], run.stderr[crash.start() :], source)
    if "AddressSanitizer:" in run.stderr or ": runtime error: " in run.stderr:
        return memory(run.stderr, source)
    places = [source.place(match["file"], match["line"]) for match in PLACE.finditer(run.stderr)]
    if "deadlock in" in run.stderr:
        where = ", ".join(dict.fromkeys(places)) or "a barrier"
        reason = f"a deadlock: threads of a block wait at {where}, and the others never come"
        step = "all threads of a block must reach the same __syncthreads()"
        return Finding(reason, f"{step}: none inside a condition, no return before it")
    doings = "waits|comes|shuffles|calls|asks|begins|initialises|announces|uses|arrives"
    barrier = re.search(rf"{THREAD} (?P<what>({doings})[^\n]*)", run.stderr)
    if barrier:
        reason = f"thread ({barrier['thread']}) of block ({barrier['block']}) {barrier['what']}"
        reason += f" ({' and '.join(dict.fromkeys(places))})" if places else ""
        if "asynchronous copy" in barrier["what"]:
            step = "a commit makes a group of the copies before it; __pipeline_wait_prior(n) waits for all groups but n"
            return Finding(reason, step)
        return Finding(reason, "all threads of a block must come to the same barrier")
    touched = r"^crash: (?P<who>host code|block .*?) touched (?P<address>0x\w+)(?P<rest>[^\n]*)"
    crash = re.search(touched, run.stderr, re.M)
    if crash:
        if crash["who"] == "host code":
            step = "copy it with cudaMemcpy; only kernels may use device pointers"
            return Finding("host code touches device memory", step)
        where = crash["rest"].strip(", ") or "what is no array"
        step = "which index is too large (or negative)? The part 'memory' names the line"
        return Finding(f"{crash['who']} touched memory {where}", step)
    if run.code in (0, 1) and not run.signal:
        return None
    if "terminate called" in run.stderr or "what():" in run.stderr:
        what = re.search(r"what\(\): +(.+)", run.stderr)
        return Finding(f"{doing} ended with an exception: {what[1] if what else 'of unknown kind'}")
    heap = re.search(r"^(free|malloc|realloc|munmap_chunk|corrupted|double free)\b.*$", run.stderr, re.M)
    if heap:
        reason = f"{doing} wrote beyond an array, into what the heap needs itself ({heap[0].strip()})"
        step = "does the launch ask for all the shared memory that the kernel uses, padding and halo included?"
        return Finding(reason, f"{step} The part 'memory' names the line")
    how = f"signal {run.signal}" if run.signal else f"exit code {run.code}"
    last = (run.stderr.strip().splitlines() or [""])[-1][:200]
    return Finding(f"{doing} ended by {how}" + (f": {last}" if last else ""), "the part 'memory' may name the line")


def wrong_bits(failures):
    """What Google Test's failure messages say: the first wrong spin, of which problem and launch."""
    found = [(text, re.search(r"(\d+ of \d+ spins are wrong, the first .*?)\)?$", text, re.M)) for text in failures]
    text, wrong = next((pair for pair in found if pair[1]), (failures[0], None))
    if not wrong:
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return Finding("; ".join(lines[1:4] or lines)[:400])
    trace = trace_of(text, wrong)
    picture = picture_of(text)
    if not re.search(r"sample \d+, replica", wrong[1]):
        # Of all lattices that are wrong, the largest whose spins have a character each.
        pictures = {pair[0]: picture_of(pair[0]) for pair in found if pair[1]}
        clear = {one: of for one, of in pictures.items() if "a spin a character" in of}
        shown = max(clear or pictures, key=lambda one: len(pictures[one]))
        picture = re.sub(r"^where, n = \d+", f"where ({trace_of(shown)})", pictures[shown])
    return Finding(wrong[1] + (f" ({trace})" if trace else ""), where(wrong[1], trace, text), picture=picture)


def trace_of(text, wrong=None):
    """Which problem and launch a failure is of."""
    traces = re.findall(r"^\S*test\.cpp:\d+: (.+)$", text[wrong.end() if wrong else 0 :], re.M)[:2]
    return "; ".join(re.sub(r"(, |^)[a-z ]+ left to the stage", "", line).removeprefix(", ") for line in traces[::-1])


def picture_of(text):
    """The map that a test of the 2D model draws, or what one of the 3D model says of the first wrong site."""
    found = re.search(
        r"^where, n = .*\n(  \| .*\n)+|^half-sweep \d+ \(.*\n(.+\n)*?wrong of all, .*\n(.* have changed\n)?", text, re.M
    )
    return found[0].rstrip() if found else ""


def where(message, trace, text=""):
    """A hint from where the first wrong spin is, and how many there are."""
    count, of, x, y = map(int, re.search(r"(\d+) of (\d+) .* x = (\d+), y = (\d+)", message).groups())
    if count == of:
        return "no spin is right: is anything written at all, and with the right sign?"
    lattice = re.search(r"sample (\d+), replica (\d+), at the (red|blue)", message)
    half_sweep = int((re.search(r"^half-sweep (\d+) \(", text, re.M) or [0, 1])[1])
    if lattice and half_sweep > 2:
        return (
            "the first sweep is right: does every stream go on where it stopped, with one draw a site and replica "
            "taken, and its state stored?"
        )
    if "of the other colour have changed" in text:
        return "a half-sweep updates the sites of one colour, and these are of the other: whose spin is written?"
    if lattice and 20 * count < of:
        return "few are wrong: does the rule compare like the reference (<, <=, which threshold), at the edges, too?"
    if lattice:
        sample, replica, colour = lattice.groups()
        if replica != "0":
            return "replica 0 is right: does each replica take the next number of the stream, and its own spins?"
        if sample != "0":
            return "sample 0 is right: do couplings, streams and spins of other samples begin where they should?"
        if colour == "blue":
            return "red is right at first, blue is not: whose bond, whose neighbour does a blue site look at?"
        energies = wrong_energies(text)
        if energies:
            step = f"wrong only with {energies} of six bonds satisfied"
            return f"{step}: put these numbers through the sums and the rule by hand"
    size = re.search(r"\bn = (\d+)", trace)
    if size and 3 * count < of:
        n = int(size[1])
        if n > 2 and (x in (0, n - 1) or y in (0, n - 1)):
            return "few are wrong, the first at an edge: is the neighbour beyond it the spin on the other side?"
        return "few are wrong: look at the borders of tiles and blocks, and at sizes that no block divides"
    return "many are wrong: work out by hand what thread (0, 0) of block (0, 0) reads and writes, then the next one"


def wrong_energies(text):
    """'4 or 5': the numbers of satisfied bonds at which sites are wrong, if others are right."""
    line = re.search(r"^wrong of all, by satisfied bonds:(.*)$", text, re.M)
    counts = [
        (n, int(wrong), int(all)) for n, wrong, all in re.findall(r"(\d): (\d+) of (\d+)", line[1] if line else "")
    ]
    wrong = [n for n, bad, _ in counts if bad]
    if not wrong or not any(every and not bad for _, bad, every in counts):
        return ""
    return " or ".join([", ".join(wrong[:-1]), wrong[-1]] if wrong[1:] else wrong)


def compute_sanitizer(run, source, tool):
    """The first complaint of compute-sanitizer."""
    lines = [line.lstrip("= ").strip() for line in (run.stdout + run.stderr).splitlines() if line.startswith("=====")]
    other = ("COMPUTE-SANITIZER", "Saved host", "Host Frame", "ERROR")
    said = [line for line in lines if line and not line.startswith(other)]
    found = re.findall(r"(\d\d_\w+/\w+\.cuh?|update\.cu):(\d+)", "\n".join(lines))
    places = [source.place(*place) for place in found]
    at = f" at {', '.join(dict.fromkeys(places))}" if places else ""
    if run.timed_out:
        return Finding(f"compute-sanitizer {tool} did not end within {run.seconds:.0f} s")
    return Finding(
        f"compute-sanitizer {tool}{at}: {'; '.join(said[:3])[:400] or f'exit code {run.code}'}",
        "the same mistake shows itself on the CPU path, in 'races' or 'memory'",
    )
