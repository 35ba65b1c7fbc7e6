"""What a submission asks of others and offers to them, as its object files say: no more than a kernel needs."""

import re
import subprocess

# What a name means, for the student who is told.
FORBIDDEN = {
    "ends the program": (
        r"_?_?exit|_Exit|quick_exit|at_quick_exit|atexit|on_exit|raise|kill|signal|sigaction|(sig)?longjmp"
    ),
    "starts other programs or threads": (
        r"system|popen|exec[lv]p?e?|execvpe|posix_spawnp?|v?fork|clone3?|waitpid|pthread_create|std::thread::.*|std::async.*"
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
RULES = {meaning: re.compile(rf"({names})(\(.*\)( const)?)?") for meaning, names in FORBIDDEN.items()}


def symbols_of(folder, objects):
    """(type as nm has it, name) of every symbol that is not local to its file."""
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
        elif kind in "TDBRC" and not re.match(r"(\w+ )*psflip::(cpu|gpu)::", plain):
            return f"the code defines {plain}; only what is in psflip::PSFLIP_PLATFORM is yours"
    return ""
