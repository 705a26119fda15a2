"""Reads the catalogue: the subset of YAML that its files use, the names of programs and the forms that read."""

import re
from pathlib import Path

# A plain word ends at one of these, after a comma or a colon only before a blank.
FLOW_END = re.compile(r"\s*(?:[,\[\]{}]|:(?=\s|$)|$)|\s+#")
KEY = re.compile(r"""("(?:[^"\\]|\\.)*"|'[^']*'|[^\s#\-?\[{"'][^#]*?|-[^\s#][^#]*?|[-?])\s*:(?=\s|$)""")


class Yaml:
    """One file."""

    def __init__(self, text):
        self.lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
        self.anchors = {}
        self.at = 0

    def indent(self):
        line = self.lines[self.at]
        return len(line) - len(line.lstrip())

    def block(self, indent):
        """The map or the list whose lines have this indent."""
        if self.lines[self.at].lstrip().startswith("- "):
            items = []
            while (
                self.at < len(self.lines) and self.indent() == indent and self.lines[self.at].lstrip().startswith("- ")
            ):
                rest = self.lines[self.at].lstrip()[2:]
                self.at += 1
                items.append(self.value(rest, indent))
            return items
        result = {}
        while self.at < len(self.lines) and self.indent() == indent:
            line = self.lines[self.at].strip()
            found = KEY.match(line)
            if not found:
                raise ValueError(f"no key: {line}")
            self.at += 1
            result[plain(found.group(1))] = self.value(line[found.end() :].strip(), indent)
        return result

    def value(self, rest, indent):
        """The value behind a key, in the same line or below it."""
        anchor = re.match(r"&(\S+)\s*", rest)
        if anchor:
            rest = rest[anchor.end() :]
        if not rest and self.at < len(self.lines) and self.lines[self.at].lstrip().startswith(("[", "{")):
            rest = self.lines[self.at].strip()
            self.at += 1
        if rest.startswith(("[", "{")):
            # It ends in a later line, as a rule in the same one.
            while True:
                flow = Flow(rest, self.anchors)
                try:
                    result = flow.value()
                    break
                except IndexError:
                    rest += " " + self.lines[self.at].strip()
                    self.at += 1
        elif rest and not rest.startswith("#"):
            result = Flow(rest, self.anchors).value(ends=re.compile(r"\s+#|\s*$"))
        elif self.at < len(self.lines) and self.indent() > indent:
            result = self.block(self.indent())
        else:
            result = None
        if anchor:
            self.anchors[anchor.group(1)] = result
        return result


class Flow:
    """A value in one line: `{key: [word, "text"], other: *anchor}`."""

    def __init__(self, text, anchors):
        self.text = text
        self.anchors = anchors
        self.at = 0

    def skip(self):
        while self.text[self.at].isspace():
            self.at += 1

    def value(self, ends=FLOW_END):
        self.skip()
        anchor = re.compile(r"&([^\s,\[\]{}]+)\s*").match(self.text, self.at)
        if anchor:
            self.at = anchor.end()
            self.anchors[anchor.group(1)] = result = self.value(ends)
            return result
        first = self.text[self.at]
        if first == "[":
            return self.items()
        if first == "{":
            return self.pairs()
        word = self.word(ends)
        if first == "*" and word[1:] in self.anchors:
            return self.anchors[word[1:]]
        return plain(word)

    def word(self, ends):
        quoted = re.compile(r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*')""").match(self.text, self.at)
        end = quoted.end() if quoted else ends.search(self.text, self.at).start()
        word = self.text[self.at : end]
        self.at = end
        return word

    def items(self):
        self.at += 1
        result = []
        while True:
            self.skip()
            if self.text[self.at] == "]":
                self.at += 1
                return result
            if self.text[self.at] == ",":
                self.at += 1
                continue
            result.append(self.value())

    def pairs(self):
        self.at += 1
        result = {}
        while True:
            self.skip()
            if self.text[self.at] == "}":
                self.at += 1
                return result
            if self.text[self.at] == ",":
                self.at += 1
                continue
            key = plain(self.word(FLOW_END))
            self.skip()
            if self.text[self.at] == ":":
                self.at += 1
                result[key] = self.value()
            else:
                result[key] = None


def plain(word):
    word = word.strip()
    if word.startswith('"'):
        return re.sub(r"\\(.)", lambda found: {"n": "\n", "t": "\t"}.get(found.group(1), found.group(1)), word[1:-1])
    if word.startswith("'"):
        return word[1:-1].replace("''", "'")
    return word


def flat(value):
    """The texts of a list, whose parts may be lists."""
    if isinstance(value, list):
        return [text for part in value for text in flat(part)]
    return [] if value is None else [value]


class Form:
    """What a program does with a verb, or without one."""

    def __init__(self, program, verb, terms):
        self.program = program
        self.verb = verb
        self.terms = terms if isinstance(terms, dict) else {"effect": terms}

    @property
    def reads(self):
        return self.terms.get("effect") in ("reads", "writes") or "runs" in self.terms

    def list(self, key):
        """The entries of a key of the form; a verb inherits some of its program."""
        own = flat(self.terms.get(key))
        inherits = key in ("value", "outputs", "inputs", "keys")
        return own or (flat(self.program.terms.get(key)) if inherits else [])

    def typed(self):
        """The options that have a role or another key, which states what they are."""
        result = set()
        for terms in (self.terms, self.program.terms):
            for options in (terms.get("options") or {}).values():
                result.update(flat(options))
            for key in (
                "outputs",
                "inputs",
                "keys",
                "quiet",
                "changes_with",
                "reads_with",
                "statements",
                "script",
                "host",
                "flags",
                "needs",
                "all",
                "selects",
            ):
                result.update(flat(terms.get(key)))
            for key in ("unknown_values", "quiet_values"):
                result.update((terms.get(key) or {}).keys())
        result.update(self.program.terms.get("commands") or {})
        return {option.rstrip("*=") for option in result}


class Program:
    def __init__(self, key, terms, family):
        self.key = key
        self.family = family
        self.terms = terms if isinstance(terms, dict) else {"effect": terms}
        self.names = flat(self.terms.get("names")) or [key]

    def forms(self):
        """The form without a verb, and one for each way to write a verb."""
        yield Form(self, (), self.terms)
        for ways, terms in (self.terms.get("verbs") or {}).items():
            for way in ways.split("|"):
                yield Form(self, tuple(way.split()), terms)


def programs(root):
    """All programs of the catalogue."""
    for path in sorted((Path(root) / "crates/reader/src/catalogue").glob("*/*.yaml")):
        if path.parent.name in ("languages", "never"):
            continue
        for key, terms in Yaml(path.read_text()).block(0).items():
            yield Program(key, terms or {}, path.stem)
