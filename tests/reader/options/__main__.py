"""Lists options and variables that the catalogue of programs lacks or types doubtfully.

It gets the packages of `packages.json`, reads their manuals, and asks the guard about every option in a command that
otherwise reads. Nothing is installed on this machine. The result is a file with one finding a line.
"""

import argparse
import json
import os
import pickle
import re
import shutil
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatchcase
from pathlib import Path

import bases
import catalogue
import manuals
import words
from guard import Guard, quoted

COMMAND = "chmod 777 /opt/z"
SCRATCH, FOREIGN = "/tmp/x", "/opt/x"
# Help texts of one program.
MOST_VERBS = 12
ORDER = ["starts", "configures", "outputs", "changes", "secrets", "variable", "inputs", "denied", "lacks"]


def arguments():
    parser = argparse.ArgumentParser(prog="options", description=__doc__.splitlines()[0])
    parser.add_argument(
        "program", nargs="?", default="target/debug/opsctl", help="the opsctl to ask (default: %(default)s)"
    )
    parser.add_argument(
        "--folder", type=Path, default=Path("target/options"), help="for packages, manuals and the result"
    )
    parser.add_argument("--only", metavar="NAME", action="append", help="look at this program; may be repeated")
    parser.add_argument("--no-help", action="store_true", help="read manuals only, and run no program with `--help`")
    parser.add_argument(
        "--no-denials", action="store_true", help="leave out what is denied without need, which is most of the work"
    )
    parser.add_argument("--no-fetch", action="store_true", help="download nothing")
    parser.add_argument(
        "--suggestive",
        action="store_true",
        help="only list the options of the catalogue whose names suggest a role that it does not state",
    )
    return parser.parse_args()


def suggestive(programs):
    """Options that take a value and have no role, although the name suggests one."""
    seen = set()
    for program in programs:
        for form in program.entries:
            if not form.reads:
                continue
            typed = form.typed()
            for option in form.list("value"):
                option = option.rstrip("*=")
                role = words.suggests(option) if option.startswith("--") else None
                if role and option not in typed and (program.key, option) not in seen:
                    seen.add((program.key, option))
                    yield {"program": program.key, "verb": " ".join(form.verb), "option": option, "suggests": role}


def collect(folder, names, takes_help, fetches):
    """The manuals of the programs with these names."""
    pages = folder / "pages"
    pages.mkdir(parents=True, exist_ok=True)
    state = folder / "commands.json"
    commands = json.loads(state.read_text()) if state.exists() else {}
    debs = manuals.fetch_debian(folder) if fetches else sorted((folder / "debs").glob("*.deb"))
    for deb in debs:
        if deb.name not in commands:
            commands[deb.name] = sorted(manuals.unpack_manuals(deb, pages))
    state.write_text(json.dumps(commands))
    folders = [pages, *map(Path, ("/usr/share/man/man1", "/usr/share/man/man5", "/usr/share/man/man8"))]
    globs = [name for name in names if "*" in name and "/" not in name]
    found = {}
    for place in folders:
        for path in sorted(place.iterdir()) if place.is_dir() else []:
            page = re.sub(r"\.[158][^/.]*(?:\.gz)?$", "", path.name)
            if page != path.name and place.name != "man5":
                found.setdefault(page, path)
    result, seen, wanted = [], set(), []
    for page, path in sorted(found.items()):
        parts = page.split("-")
        owner = next((name for end in range(len(parts), 0, -1) if (name := "-".join(parts[:end])) in names), None)
        owner = owner or next((page for glob in globs if fnmatchcase(page, glob)), None)
        if owner:
            wanted.append((page, path, owner))
    with ThreadPoolExecutor(2) as pool:
        texts = pool.map(lambda page: manuals.page_text(page[1], folders), wanted)
        for (page, _, owner), text in zip(wanted, texts):
            manual = manuals.read(page, "manual", text)
            manual.owner, manual.verb = owner, page[len(owner) + 1 :]
            if manual.options or manual.variables:
                result.append(manual)
                seen.add(owner)
    return result, seen, {name: deb for deb, list_ in commands.items() for name in list_ if name in names}


def helped(folder, owners, seen, index, entries):
    """The help texts of programs without a manual, of their packages."""
    tools = folder / "tools"
    if not shutil.which("bwrap"):
        for deb in (folder / "debs").glob("bubblewrap_*.deb"):
            subprocess.run(["dpkg-deb", "-x", deb, tools], check=False)
        os.environ["PATH"] = f"{tools / 'usr/bin'}:{os.environ['PATH']}"
    if not shutil.which("bwrap"):
        print("without `bwrap`, no program is run with `--help`", file=sys.stderr)
        return
    wanted = []
    for name, where in sorted(owners.items()):
        if name in seen or name not in index:
            continue
        root = folder / where
        if where.endswith(".deb"):
            root = folder / "roots" / where
            if not root.exists():
                root.mkdir(parents=True)
                subprocess.run(["dpkg-deb", "-x", folder / "debs" / where, root], check=False)
        verbs = {form.verb for form in entries[name] if not any("*" in word or "[" in word for word in form.verb)}
        wanted += [(name, verb, root) for verb in sorted({(), *verbs})[:MOST_VERBS]]
    with ThreadPoolExecutor(2) as pool:
        texts = pool.map(lambda one: manuals.help_text([one[0], *one[1], "--help"], one[2]), wanted)
        for (name, verb, _), text in zip(wanted, texts):
            manual = manuals.read(" ".join([name, *verb]), "help", text)
            manual.owner, manual.verb = name, "-".join(verb)
            if manual.options:
                yield manual


# The roles with which no harmless value is expected to be allowed.
DOUBTFUL = {"starts", "configures", "changes", "secrets"}
# What is tried for an option with a role, and for one without a role.
TRIES = {
    "starts": ["command", "scratch", "foreign"],
    "configures": ["scratch"],
    "outputs": ["foreign"],
    "inputs": ["secret"],
    "changes": ["harmless"],
    "secrets": ["harmless"],
    None: ["harmless"],
}


def questions(manual, base, number, is_first, asks_denials):
    """The commands to ask about one manual with one base: the option, what is tried, and the command."""
    _, line, end = base
    for option in manual.options:
        roles = words.judge(option)
        kinds = {kind for role in roles or [None] for kind in TRIES[role]}
        if not DOUBTFUL & set(roles):
            kinds.add("harmless")
            if not is_first or not asks_denials:
                kinds.discard("harmless")
        for name in option.names:
            if not option.value:
                if {"changes", "secrets"} & set(roles) or "harmless" in kinds:
                    yield option, name, "flag", quoted([*line[:end], name, *line[end:]])
                continue
            values = {
                "harmless": words.harmless(option),
                "scratch": SCRATCH,
                "foreign": FOREIGN,
                "command": COMMAND,
                "secret": f"/etc/shadow-{number}",
            }
            number += 1
            for kind in sorted(kinds):
                given = [[f"{name}={values[kind]}" if name.startswith("--") else name + values[kind]]]
                if not option.optional:
                    given.insert(0, [name, values[kind]])
                for words_ in given[:1] if kind == "harmless" else given:
                    yield option, name, kind, quoted([*line[:end], *words_, *line[end:]])


def in_verb(base, form):
    """The same command with the verb of a form that shares its description."""
    other, line, end = base
    verb = line[end - len(other.verb) : end]
    if (
        any("*" in word for word in form.verb)
        or any("*" in word for word in other.verb)
        or len(verb) != len(other.verb)
    ):
        return base
    return form, [*line[: end - len(verb)], *form.verb, *line[end:]], end - len(verb) + len(form.verb)


def variables(manual, base):
    for name, text in manual.variables:
        for kind, value in (("harmless", "x"), ("scratch", SCRATCH), ("foreign", FOREIGN), ("command", COMMAND)):
            yield manuals.Option([name], "VALUE", text), name, kind, f"{name}={quoted([value])} {' '.join(base[1])}"


def findings(option, answers):
    """What the answers of the guard say, beside what the manual says."""
    roles = words.judge(option)
    allowed = {kind: command for kind, (command, why) in answers.items() if not why}
    if "flag" in answers:
        if "flag" in allowed:
            for role in {"changes", "secrets"} & set(roles):
                yield role, allowed["flag"], ""
        elif not roles and "flag" not in allowed:
            yield "lacks", answers["flag"][0], answers["flag"][1]
        return
    if "starts" in roles and any(kind in allowed for kind in ("scratch", "foreign", "command")):
        kind = next(kind for kind in ("command", "scratch", "foreign") if kind in allowed)
        yield "starts", allowed[kind], ""
    if "configures" in roles and "scratch" in allowed:
        yield "configures", allowed["scratch"], ""
    if "outputs" in roles and "foreign" in allowed:
        yield "outputs", allowed["foreign"], ""
    if "harmless" in allowed:
        for role in {"changes", "secrets"} & set(roles):
            yield role, allowed["harmless"], ""
    if "inputs" in roles and "outputs" not in roles and "secret" in allowed:
        yield "inputs", allowed["secret"], ""
    if "harmless" not in allowed and "harmless" in answers and not DOUBTFUL & set(roles):
        yield "denied", *answers["harmless"]


def main():
    given = arguments()
    root = Path(__file__).resolve().parents[3]
    programs = list(catalogue.programs(root))
    for program in programs:
        program.all_forms = list(program.forms())
        program.entries = list({id(form.terms): form for form in reversed(program.all_forms)}.values())[::-1]
    if given.suggestive:
        rows = list(suggestive(programs))
        for row in rows:
            print(json.dumps(row))
        print(f"{len(rows)} options without a role have a name that suggests one", file=sys.stderr)
        return
    names = {name for program in programs for name in program.names if any(form.reads for form in program.entries)}
    names = {name for name in names if not given.only or name in given.only}
    guard = Guard(given.program)
    given.folder.mkdir(parents=True, exist_ok=True)
    stored = given.folder / "manuals.pickle"
    if stored.exists() and given.no_fetch:
        books, owners = pickle.loads(stored.read_bytes())
        books = [book for book in books if book.owner in names]
        index, reading = bases.bases(
            root,
            guard,
            programs,
            sorted({book.owner for book in books}),
            None if given.only else given.folder / "bases.jsonl",
        )
    else:
        books, seen, owners = collect(given.folder, names, not given.no_help, not given.no_fetch)
        if not given.no_help:
            owners = {**manuals.other_packages(given.folder, names, not given.no_fetch), **owners}
        index, reading = bases.bases(root, guard, programs, sorted(seen | set(owners)))
        if not given.no_help:
            entries = {
                name: [form for form in program.entries if (name, id(form.terms)) in reading]
                for name, program in index.items()
            }
            books += helped(given.folder, owners, seen, index, entries)
        if not given.only:
            stored.write_bytes(pickle.dumps((books, owners)))
    tried = []
    for book in books:
        if book.owner not in index:
            continue
        program = index[book.owner]
        with_base = [reading[key] for form in program.entries if (key := (book.owner, id(form.terms))) in reading]
        if book.verb:
            # The page of a verb, or of several words of one.
            own = [form for form in program.all_forms if "-".join(form.verb) == book.verb]
            with_base = [
                in_verb(reading[key], form) for form in own if (key := (book.owner, id(form.terms))) in reading
            ][:1]
        for place, base in enumerate(with_base[:4]):
            tried += [
                (book, base, *question)
                for question in questions(book, base, 1 + len(tried), place == 0, not given.no_denials)
            ]
        for base in with_base[:1]:
            tried += [(book, base, *question) for question in variables(book, base)]
    answers = guard.ask([command for *_, command in tried])
    grouped = {}
    for (book, base, option, name, kind, command), why in zip(tried, answers):
        kinds = grouped.setdefault(
            (book.owner, id(base[0].terms), book.name, name, id(option)), (book, base, option, name, {})
        )[4]
        # One spelling that is allowed is enough; a harmless value has to be allowed in each.
        known = kinds.get(kind)
        if known is None or bool(known[1]) != (kind == "harmless") and bool(why) == (kind == "harmless"):
            kinds[kind] = (command, why)
    merged = {}
    for book, base, option, name, kinds in grouped.values():
        is_variable = option.value == "VALUE" and not name.startswith("-")
        for role, command, why in findings(option, kinds):
            # What prints a secret is denied although it reads.
            if role == "secrets" and guard.explain(command)["decision"] != "allow":
                continue
            key = (book.owner, name, role, is_variable)
            row = merged.setdefault(
                key,
                {
                    "finding": role,
                    "program": book.owner,
                    "verbs": [],
                    "option": name,
                    "value": option.value,
                    "names": option.names,
                    "manual": option.text[:200],
                    "source": f"{book.source} {book.name}",
                    "command": command,
                    "why": why,
                },
            )
            row["verbs"].append(" ".join(base[0].verb))
            if is_variable:
                row["finding"] = "variable" if role in ("starts", "configures", "outputs") else "lacks"
    rows = sorted(merged.values(), key=lambda row: (ORDER.index(row["finding"]), row["program"], row["option"]))
    (given.folder / "findings.jsonl").write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    covered = {book.owner for book in books}
    counts = Counter(row["finding"] for row in rows)
    print(f"programs: {len(covered)} of {len(names)} names have a manual or a help text")
    print(
        f"options: {len({(book.owner, name) for book in books for option in book.options for name in option.names})}, "
        f"{len(tried)} commands asked"
    )
    print(f"variables: {len({(book.owner, name) for book in books for name, _ in book.variables})}")
    print(f"findings: {dict(counts)} in {given.folder / 'findings.jsonl'}")


if __name__ == "__main__":
    main()
