"""The part of a source file that a student writes, and the starter that is made of it.

    // --- yours: a hint in one line
    ...
    // --- end

A file has at most one such region, of whole declarations. In the starter everything in it stays that says what is to be
written, comments and signatures included; the bodies of its functions are gone.
"""

import re

BEGIN = re.compile(r"^(?P<indent> *)// --- yours: (?P<hint>.+)\n", re.MULTILINE)
END = re.compile(r"^ *// --- end\n", re.MULTILINE)

# What a body must not be looked for in: comments, strings and characters.
TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'|[{}();]', re.DOTALL)


def split(text, name):
    """What comes up to the first mark, the region, and the rest from the second mark on. None if there is no region."""
    begins, ends = list(BEGIN.finditer(text)), list(END.finditer(text))
    if not begins and not ends:
        return None
    if len(begins) != 1 or len(ends) != 1 or ends[0].start() < begins[0].end():
        raise ValueError(f"{name}: a region is one line '// --- yours: ...' and one '// --- end' behind it")
    return text[: begins[0].end()], text[begins[0].end() : ends[0].start()], text[ends[0].start() :]


def without_bodies(region, name):
    """The declarations, with empty functions: those that return something return the zero of it."""
    result, kept, depth, last, declaration, in_function = [], 0, 0, "", 0, False
    for token in TOKEN.finditer(region):
        mark = token[0]
        if mark[0] in "/\"'":
            continue
        line = region.rfind("\n", 0, token.start()) + 1
        if mark == "{":
            if depth == 0 and last == ")":  # a struct, or a list of values, has no parenthesis before it
                in_function = True
                result.append(region[kept : token.end()] + "\n")
                head = re.sub(r"//.*|/\*(.|\n)*?\*/", "", region[declaration : token.start()])
                if not re.search(r"\bvoid\b", head.split("(")[0]):
                    result.append(re.match(" *", region[line:])[0] + "  return {};\n")
            depth += 1
        elif mark == "}":
            depth -= 1
            if depth < 0:
                break
            if depth == 0:
                if in_function:
                    kept = token.start() if region[line : token.start()].strip() else line
                in_function, declaration = False, token.end()
        elif mark == ";" and depth == 0:
            declaration = token.end()
        last = mark
    if depth != 0:
        raise ValueError(f"{name}: the region is not made of whole declarations: its braces do not match")
    return "".join(result) + region[kept:]


def starter(text, name="update.cu"):
    """What a student begins with. Text without a region is given as it is."""
    parts = split(text, name)
    if not parts:
        return text
    before, region, after = parts
    return before + without_bodies(region, name) + after


# What a stage's page has beside it and a student's copy has not: other exercises, what was measured, the stages before.
ELSEWHERE = r"[Ee]xercises?\s+\d|measured\.md|counters\s+of\s+stages?"
WITHIN = r"(?:[^.?:\n]|\n(?!\n)|\.(?=\w))*"  # a sentence
SENTENCE = re.compile(rf"\s(?=[A-Z]){WITHIN}?(?:{ELSEWHERE}){WITHIN}[.?]")


def without_references(text):
    """A stage's page or an exercise without what it says of exercises and files that an assignment does not have."""
    text = re.sub(rf"\s\([^()]*(?:{ELSEWHERE})[^()]*\)", "", text)
    text = re.sub(r":\s+exercise\s+\d+\.", ".", text)
    return SENTENCE.sub("", text)
