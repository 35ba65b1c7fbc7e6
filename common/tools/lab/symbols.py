"""What a submission asks of others and offers to them, as its text and its object files say: no more than a kernel
needs."""

import os
import re
import subprocess
from pathlib import Path

# What a name means, for the student who is told.
FORBIDDEN = {
    "ends the program": (
        r"_?_?exit|_Exit|quick_exit|at_quick_exit|atexit|on_exit|raise|kill|signal|sigaction|(sig)?longjmp"
    ),
    "starts other programs or threads": (
        r"system|popen|exec[lv]p?e?|execvpe|posix_spawnp?|wordexp|v?fork|clone3?|waitpid|pthread_create|std::thread::.*|std::async.*"
    ),
    "loads code or calls the system itself": r"dlopen|dlsym|dlmopen|syscall|ptrace|mprotect|process_vm_\w+|prctl",
    "touches files": (
        r"(f|fd|fre)open(64)?|open(at)?(64)?(_2|_nocheck)?|creat(64)?|write|pwrite(64)?|dup[23]?|unlink(at)?|remove|"
        r"rename(at2?)?|f?truncate(64)?|mkdir(at)?|rmdir|(sym)?link(at)?|mkstemp(64)?|mmap(64)?|"
        r"std::(__cxx11::)?basic_[io]?f(ile)?(stream|buf).*|std::filesystem::.*"
    ),
    "asks how it is being checked": r"(secure_)?getenv|setenv|putenv|unsetenv|environ|program_invocation_\w+",
    "uses a network": r"socket|connect|bind|sendto?|recv(from)?",
    "calls the reference, with which it is compared": r"psflip::reference::.*",
    "reaches into the test": r"testing::.*|psflip::state_hash.*|psflip::\w+::(platforms|stage)\(\)",
}
# The C library has many of them with underscores before, too.
RULES = {meaning: re.compile(rf"_*({names})(\(.*\)( const)?)?") for meaning, names in FORBIDDEN.items()}


OWN = re.compile(r"(\w+ )*psflip::(cpu|gpu)::|__odr_asan")
# Templates and inline functions are weak, and many, and nm cannot read the names of some (_Z...); a weak name of C is
# meant to come before a library's own.
OF_C = re.compile(r"(?!DW\.ref\.|__odr_asan|_Z)[\w.$]+")
OF_OTHERS = re.compile(
    r"operator (new|delete)(\[\])?\((unsigned long|void\*)(, unsigned long)?\)"
    r"|(\w+ )*(testing::|psflip::reference::|psflip::state_hash)"
)

# What no text may have unless psFlip's own has it in the same place: words that ask which build this is, or tell a
# sanitizer to look away.
ASKS_OF_BUILD = r"__SANITIZE_\w+__|__has_feature|__OPTIMIZE__|NDEBUG|\w*no_sanitize\w*|\w*disable_sanitizer\w*"
ASKS_OF_BUILD += r"|__(?:asan|tsan|ubsan|lsan|sanitizer)_\w+"
NOT_CODE = re.compile(
    r"""//[^\n]*|/\*.*?\*/|(?P<text>R"([^()\s\\]*)\(.*?\)\2"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+')""", re.DOTALL
)
INCLUDE = re.compile(r"^[ \t]*(?:#|%:|\?\?=)[ \t]*(?:include|include_next|import|embed)\b[ \t]*(.*)", re.MULTILINE)
ENGINE = re.compile(r"(?:MakeSimulation|unique_ptr<(?:\w+::)*Simulation>)\s+(make_\w+)")


def without_comments(text, strings=True):
    text = re.sub(r"\\[ \t]*\n", "", text)  # lines that go on
    return NOT_CODE.sub(lambda match: match[0] if strings and match["text"] else " ", text)


def engines_in(texts):
    """Names of the functions in these sources that make a whole engine."""
    return {name for text in texts for name in ENGINE.findall(text)}


def complaint_of_text(text, own, engines):
    """What a submitted file must not say, in one line. `own`: psFlip's text of the same file, which may say it."""
    code, known = without_comments(text, strings=False), without_comments(own, strings=False)
    for pattern, meaning in (
        (rf"\b(?:{ASKS_OF_BUILD})\b", "asks how it is being built or checked"),
        (r"##|%:%:|\?\?=\?\?=", "joins names in macros, where nobody can read them"),
        (r"\b(?:" + "|".join(map(re.escape, sorted(engines))) + r")\b", "lets another engine do the work"),
    ):
        for word in re.findall(pattern, code) if pattern != r"\b(?:)\b" else ():
            if word not in known:
                return f"the code {meaning}: {word}"
    return ""


def complaint_of_includes(name, text, root, allowed):
    """What a submitted file includes and may not: of the tree, only what is in `allowed`, and nothing by a path that
    leads out of it."""
    for operand in INCLUDE.findall(without_comments(text)):
        match = re.match(r'"([^"]+)"|<([^>]+)>', operand.strip())
        if not match:
            return f"the code includes {operand.strip() or 'nothing'}; after #include comes a file's name"
        file = match[1] or match[2]
        places = [os.path.normpath(Path(place, file)) for place in (Path(name).parent, "", "common")]
        inside = [place for place in places if not place.startswith("..") and (root / place).is_file()]
        if os.path.isabs(file) or (".." in Path(file).parts and not inside):
            return f"the code includes {file}, which lies elsewhere"
        if inside and Path(inside[0]) not in allowed:
            return f"the code includes {inside[0]}, which is not part of the task"
    return ""


def symbols_of(folder, objects):
    """(type as nm has it, name) of every symbol that is not local to its file."""
    if not objects:
        return
    command = ["nm", "--extern-only", "--demangle", "--no-sort", *objects]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    for line in done.stdout.splitlines():
        match = re.fullmatch(r"(?:[0-9a-f]+)? +(\w) (.+)", line)
        if match:
            yield match[1], match[2]


def complaint(symbols):
    """What is wrong with these symbols, in one line; nothing if nothing is."""
    for kind, name in symbols:
        plain = re.sub(r"@.*$", "", name)
        if kind in "Uw":
            for meaning, rule in RULES.items():
                if rule.fullmatch(plain):
                    return f"the code {meaning}: {plain}"
        elif kind in "TDBRC" and not OWN.match(plain):
            return f"the code defines {plain}; only what is in psflip::PSFLIP_PLATFORM is yours"
        elif kind in "VWiu" and (OF_C.fullmatch(plain) or OF_OTHERS.match(plain)):
            return f"the code defines {plain} for all others"
    return ""
