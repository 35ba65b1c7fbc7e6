"""What CUDA's compiler refuses, and a C++ compiler, which builds the CPU path, does not. From the text, so without
nvcc, as far as a text shows it; the part `nvcc` asks nvcc itself."""

import re
from dataclasses import dataclass

from lab.symbols import without_comments

MOST_STATIC = 48 << 10  # bytes of shared memory that a kernel may declare with a size
SIZES = {"char": 1, "bool": 1, "int8_t": 1, "uint8_t": 1, "short": 2, "int16_t": 2, "uint16_t": 2, "int": 4, "float": 4}
SIZES |= {"int32_t": 4, "uint32_t": 4, "long": 8, "double": 8, "int64_t": 8, "uint64_t": 8, "size_t": 8}
# Of the libraries, what has no __device__.
OF_HOST = r"std::(?:vector|string|map|set|function|cout|cerr|sort|shuffle|rand|thread)\b|\bs?rand(?=\s*\()"
ATTRIBUTE = r"(?:__align__|alignas|__launch_bounds__|requires|noexcept)\s*\([^()]*\)"
EXTERN = re.compile(rf"extern\s+__shared__\s+(?:{ATTRIBUTE}\s*)*(?P<type>[^;\[]*?)\b(?P<name>\w+)\s*\[\s*\]")
STATIC = re.compile(
    rf"(?<!extern )__shared__\s+(?:{ATTRIBUTE}\s*)*(?P<type>[\w:\s<>]*?)\b(?P<name>\w+)(?P<sides>(?:\s*\[[^\]]+\])+)"
)
CONSTANT = re.compile(r"constexpr\s+[\w:]+\s+(\w+)\s*=\s*([^;{},]+)[;,]")


@dataclass
class Function:
    head: str
    body: str

    @property
    def on_device(self):
        return re.search(r"__(?:device|global)__", self.head) is not None

    @property
    def kind(self):
        return "__global__" if "__global__" in self.head else "__device__"

    @property
    def name(self):
        found = re.search(r"(\w+)\s*\(", re.sub(ATTRIBUTE, "", self.head))
        return found[1] if found else ""


def functions(code):
    """Those that are defined in a text without comments, in namespaces and classes, too."""
    begin, body, depth = 0, None, 0
    for mark in re.finditer(r"[{};]", code):
        if body is not None:
            depth += {"{": 1, "}": -1}.get(mark[0], 0)
            if depth == 0:
                yield Function(code[begin : body - 1], code[body : mark.start()])
                begin, body = mark.end(), None
        elif mark[0] == "{" and re.search(r"\w\s*\(.*\)[^=]*$", code[begin : mark.start()], re.DOTALL):
            body, depth = mark.end(), 1
        else:
            begin = mark.end()


def number(words, constants):
    """The value of an expression of whole numbers and of constants of these; None if it has anything else."""
    for _ in range(4):  # constants of constants
        words = re.sub(r"[A-Za-z_]\w*", lambda match: f"({constants.get(match[0], match[0])})", words)
    if not re.fullmatch(r"[\d+*()\s-]+", words):
        return None
    try:
        return int(eval(words, {"__builtins__": {}}))  # digits, + - * and brackets
    except (SyntaxError, TypeError):
        return None


def dependent(function):
    """The name of an array of dynamic shared memory whose type is a parameter of the template."""
    template = re.search(r"template\s*<(.*?)>\s*(?:__|static|void|inline|requires|\w)", function.head, re.DOTALL)
    parameters = set(re.findall(r"(?:class|typename)\s+(\w+)", template[1] if template else ""))
    for found in EXTERN.finditer(function.body):
        if parameters & set(re.findall(r"\w+", found["type"])):
            return found
    return None


def static_bytes(function, constants):
    """At least; what cannot be told from the text counts as little as possible."""
    total = 0
    for found in STATIC.finditer(function.body):
        sides = [number(side, constants) for side in re.findall(r"\[([^\]]+)\]", found["sides"])]
        if None in sides:
            continue
        words = re.findall(r"\w+", found["type"])
        size = SIZES.get(next((word for word in words if word not in ("const", "unsigned", "signed", "std")), "int"), 1)
        for side in sides:
            size *= side
        total += size
    return total


def complaints(text):
    """[(what nvcc refuses, what to do)] of a file."""
    code = without_comments(text, strings=False)
    found = list(functions(code))
    device = {function.name for function in found if function.on_device}
    host = {one.name for one in found if not one.on_device and not re.search(r"\bconst(?:expr|eval)\b", one.head)}
    constants = dict(CONSTANT.findall(code))
    for function in filter(lambda one: one.on_device, found):
        array = dependent(function)
        if array:
            yield (
                (
                    f"nvcc refuses `{' '.join(array[0].split())}` in a template that two types use: it is one "
                    f'array for all, whose "declaration is incompatible with previous {array["name"]}"'
                ),
                "declare it as unsigned char for all types, and reinterpret_cast its address",
            )
        amount = static_bytes(function, constants)
        if amount > MOST_STATIC:
            yield (
                f"nvcc refuses {function.name}(): it uses too much shared data, {amount} bytes, {MOST_STATIC} at most",
                "a smaller tile, or extern __shared__, whose size the launch says",
            )
        for name in sorted(host - device - {""}):
            is_local = rf"\b{name}\s*="  # a lambda, say
            if re.search(is_local, function.body) or re.search(rf"\b{name}\s*[,)]", function.head):
                continue
            if re.search(rf"(?<![\w:.>]){name}\s*(?:<[^;{{}}()]*>)?\s*\(", function.body):
                yield (
                    (
                        f'nvcc refuses {function.name}(): calling a __host__ function("{name}") from a {function.kind} '
                        f'function("{function.name}") is not allowed'
                    ),
                    f"{name}() takes __device__ before its type, or belongs outside the kernel",
                )
        for name in re.findall(OF_HOST, function.body):
            yield (
                f"nvcc refuses {function.name}(): {name} is of the host's library and has no __device__",
                "a kernel has numbers and arrays; what needs the library is done before or after it",
            )
