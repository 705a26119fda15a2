"""Commands that read, one for each form of a program, to which options are added."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatchcase

import catalogue

PLAIN = re.compile(r"[\w./:=@%+, -]+")
WORDS = [
    [],
    ["x"],
    ["/etc/hosts"],
    ["1"],
    ["x", "y"],
    ["x", "/etc/hosts"],
    ["http://localhost/"],
    ["/dev/sda"],
    ["localhost"],
]


def find(programs, name):
    """The program with this name."""
    for program in programs:
        if name in program.names:
            return program
    for program in programs:
        if any("*" in known and "/" not in known and fnmatchcase(name, known) for known in program.names):
            return program
    return None


def harvest(root, guard, index):
    """The shortest commands of the corpus that read, by program, name and verb."""
    rows = []
    for path in sorted((root / "tests/effects").glob("*.jsonl")):
        rows += [row["command"] for row in map(json.loads, path.read_text().splitlines()) if row["effect"] == "read"]
    result = {}
    with ThreadPoolExecutor(2) as pool:
        for answer in pool.map(guard.explain, rows):
            for part in answer["parts"]:
                command = part["command"].split("   [on ")[0]
                if part["effect"] != "reads" or not PLAIN.fullmatch(command):
                    continue
                words = command.split()
                name = words[0].rsplit("/", 1)[-1]
                program = index.get(name)
                if not program:
                    continue
                form, end = match(program, words)
                kept = result.setdefault((name, id(form.terms)), [])
                # With an option such as `--version`, other options do nothing.
                quiet = {
                    *form.list("quiet"),
                    *catalogue.flat(program.terms.get("quiet")),
                    "--help",
                    "--version",
                    "-V",
                    "-h",
                    "-v",
                }
                kept.append((bool(quiet & set(words)), len(words), words, end, form))
    return {key: min(bases, key=lambda base: base[:4]) for key, bases in result.items()}


def match(program, words):
    """The form that a command has, and where its verb ends."""
    plain = [(index, word) for index, word in enumerate(words) if index and not word.startswith("-")]
    best, end = None, 1
    for form in program.all_forms:
        if len(form.verb) <= len(plain) and (best is None or len(form.verb) > len(best.verb)):
            if all(fnmatchcase(word, verb) for verb, (_, word) in zip(form.verb, plain)):
                best = form
                end = plain[len(form.verb) - 1][0] + 1 if form.verb else 1
    return best, end


def invented(name, form):
    """Commands of a form that may read."""
    globs = [
        re.sub(r"\[(\W?)(\w).*?\]", r"\2", glob).replace("*", "x").replace("?", "x")
        for glob in form.list("words")
        if not glob.startswith("!")
    ]
    words = WORDS + [[glob] for glob in globs[:4]]
    verb = ["x" if word == "*" else re.sub(r"\[\w.*?\]", "a", word).replace("*", "x") for word in form.verb]
    needed = [[]] + [[option] for option in form.list("reads_with")[:6]]
    for rest in words:
        for option in needed:
            yield [name, *verb, *option, *rest], 1 + len(verb)


def row(line):
    name, entry, own, words, end = json.loads(line)
    return name, tuple(entry), tuple(own), words, end


def kept(path, index):
    """The commands of an earlier run."""
    forms = {(name, form.verb): form for name, program in index.items() for form in program.all_forms}
    return {
        (name, id(forms[name, entry].terms)): (forms[name, own], words, end)
        for name, entry, own, words, end in map(row, path.read_text().splitlines())
        if (name, entry) in forms and (name, own) in forms
    }


def bases(root, guard, programs, names, path=None):
    """For each name and form, a command that reads: its words, and the place for an option."""
    index = {}
    for name in names:
        program = find(programs, name)
        if program:
            index[name] = program
    if path and path.exists():
        return index, kept(path, index)
    known = harvest(root, guard, index)
    result, left = {}, []
    for name, program in index.items():
        for form in program.entries:
            if not form.reads and "does" not in form.terms:
                continue
            found = known.get((name, id(form.terms)))
            if found:
                _, _, words, end, own = found
                result[name, id(form.terms)] = (own, words, end)
            else:
                left.append((name, form, invented(name, form)))
    # Most forms read with their first command.
    while left:
        tried = [(name, form, rest, next(rest, None)) for name, form, rest in left]
        tried = [one for one in tried if one[3]]
        left = []
        for (name, form, rest, (words, end)), why in zip(tried, guard.ask([" ".join(one[3][0]) for one in tried])):
            if why:
                left.append((name, form, rest))
            else:
                result[name, id(form.terms)] = (form, words, end)
    if path:
        entries = {(name, id(form.terms)): form.verb for name, program in index.items() for form in program.entries}
        path.write_text(
            "".join(
                json.dumps([key[0], entries[key], form.verb, words, end]) + "\n"
                for key, (form, words, end) in result.items()
                if key in entries
            )
        )
    return index, result
