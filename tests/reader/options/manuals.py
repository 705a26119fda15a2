"""Gets packages with their manual pages and help texts, and reads the options and variables that these describe."""

import gzip
import json
import os
import re
import shutil
import subprocess
import tarfile
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
PAGE = re.compile(r"(?:^|/)man[158]/([^/]+)\.[158][^/.]*(?:\.gz)?$")
COMMAND = re.compile(r"(?:^|/)s?bin/([^/]+)$")
# Packages above this size are left out: their manuals are few.
LARGEST = 12_000_000


@dataclass
class Option:
    """An option as a manual describes it."""

    names: list
    value: str
    text: str
    optional: bool = False


@dataclass
class Manual:
    """The options and variables of one manual page or help text."""

    name: str
    source: str
    options: list = field(default_factory=list)
    variables: list = field(default_factory=list)


def run(*command, **more):
    return subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False, **more
    ).stdout


def listed():
    """The packages to look at, by their kind."""
    return json.loads((HERE / "packages.json").read_text())


def fetch_debian(folder):
    """Downloads Debian packages into a folder, and installs none."""
    debs = folder / "debs"
    debs.mkdir(parents=True, exist_ok=True)
    known = set(run("apt-cache", "pkgnames").split())
    here = {path.name.split("_")[0] for path in debs.glob("*.deb")}
    wanted = [name for name in listed()["debian"] if name in known and name not in here]
    sizes = {}
    for entry in run("apt-cache", "show", "--no-all-versions", *wanted).split("\n\n") if wanted else []:
        name, size = (re.search(rf"^{key}: (.*)", entry, re.M) for key in ("Package", "Size"))
        if name and size:
            sizes[name[1]] = int(size[1])
    large = set(listed()["large"])
    wanted = [name for name in wanted if sizes.get(name, LARGEST) < LARGEST or name in large and name in sizes]
    for start in range(0, len(wanted), 30):
        subprocess.run(
            ["apt-get", "download", "-q", *wanted[start : start + 30]],
            cwd=debs,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        )
    return sorted(debs.glob("*.deb"))


def unpack_manuals(deb, pages):
    """Copies the manual pages of a package into a folder, and returns the names of its commands."""
    commands = set()
    process = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", deb], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    with process, tarfile.open(fileobj=process.stdout, mode="r|") as archive:
        for member in archive:
            command = COMMAND.search(member.name)
            if command and not member.isdir():
                commands.add(command[1])
            page = PAGE.search(member.name)
            if not page or re.search(r"/man/(?!man)", member.name):
                continue
            target = pages / os.path.basename(member.name).removesuffix(".gz")
            if member.issym() or member.islnk():
                target.write_text(f".so {os.path.basename(member.linkname).removesuffix('.gz')}\n")
            elif member.isfile():
                content = archive.extractfile(member).read()
                target.write_bytes(gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content)
    return commands


def page_text(path, folders, depth=0):
    """The text of a manual page, with long lines; a reference to another page is followed."""
    raw = path.read_bytes()
    raw = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
    refers = re.match(rb"(?:[.'][\\]\"[^\n]*\n)*\.so +(\S+)", raw)
    if refers and depth < 4:
        name = os.path.basename(refers[1].decode(errors="replace"))
        for folder in folders:
            for found in (folder / name, folder / f"{name}.gz"):
                if found.exists():
                    return page_text(found, folders, depth + 1)
        return ""
    if shutil.which("mandoc"):
        command = ["mandoc", "-T", "utf8", "-O", "width=160"]
    else:
        command = ["groff", "-t", "-mandoc", "-Tutf8", "-P-cbou", "-rLL=160n"]
    try:
        done = subprocess.run(
            command, input=raw, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=30, check=False
        )
    except subprocess.TimeoutExpired:
        # A page that the formatter does not end with.
        return ""
    text = done.stdout.decode(errors="replace")
    text = re.sub(r".\x08", "", text)
    return text.replace("\u2010", "-").replace("\u2212", "-").replace("\u2011", "-")


def help_text(command, root):
    """What a program prints with `--help`, in a sandbox without network, in which nothing can be written."""
    sandbox = [
        "bwrap",
        "--unshare-all",
        "--die-with-parent",
        "--new-session",
        "--cap-drop",
        "ALL",
        "--uid",
        "65534",
        "--gid",
        "65534",
        "--ro-bind",
        "/",
        "/",
        "--tmpfs",
        "/tmp",
        "--tmpfs",
        "/run",
        "--tmpfs",
        "/root",
        "--tmpfs",
        "/home",
        "--dev",
        "/dev",
        "--proc",
        "/proc",
        "--ro-bind",
        str(root),
        "/tmp/root",
        "--chdir",
        "/tmp",
        "--clearenv",
        "--setenv",
        "HOME",
        "/tmp",
        "--setenv",
        "COLUMNS",
        "160",
        "--setenv",
        "PYTHONPATH",
        "/tmp/root",
        "--setenv",
        "PATH",
        "/tmp/root/usr/bin:/tmp/root/usr/sbin:/tmp/root/bin:/tmp/root/node_modules/.bin:/usr/bin:/bin",
        "--setenv",
        "LD_LIBRARY_PATH",
        "/tmp/root/usr/lib/x86_64-linux-gnu:/tmp/root/usr/lib",
    ]
    try:
        done = subprocess.run(
            [*sandbox, *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=10,
            check=False,
        )
    except (subprocess.TimeoutExpired, FileNotFoundError):
        return ""
    return re.sub(r"\x1b\[[0-9;]*m", "", done.stdout.decode(errors="replace"))


# An option and its value at the beginning of a line.
ONE = re.compile(
    r"""(?P<name>--?(?:\[no-\])?[A-Za-z0-9?@\#%][\w.:+-]*|-[A-Za-z0-9?@\#%])
        (?P<value>\[?=?\ ?(?:<[^<>]+>|\{[^{}]+\}|[A-Z][\w/:|.+-]*|[a-z][\w/:|.+-]*|\[[^\[\]]+\])?\]?(?:\.\.\.)?)""",
    re.X,
)


def options_of(text):
    """The options that a text describes: each line that begins with one, and the text to its right and below it."""
    lines = text.splitlines()
    result = []
    for index, line in enumerate(lines):
        stripped = line.strip()
        if not stripped.startswith("-") or stripped.startswith("---") or len(stripped) < 2:
            continue
        indent = len(line) - len(line.lstrip())
        tag, _, right = stripped.partition("  ")
        names, value, optional = parse_tag(tag)
        if not names:
            continue
        below = []
        for other in lines[index + 1 : index + 14]:
            inner = len(other) - len(other.lstrip())
            if other.strip() and (inner <= indent or other.strip().startswith("-") and inner < indent + 4):
                # Several tags may share one text.
                if other.strip().startswith("-") and not right and not below:
                    continue
                break
            below.append(other.strip())
        words = " ".join([right, *below]).split()
        result.append(Option(names, value, " ".join(words)[:500], optional))
    return result


def parse_tag(tag):
    """The names in `-o, --output=FILE`, the name of the value, and whether it may be left out."""
    names, value, optional, rest = [], "", False, tag
    while rest:
        found = ONE.match(rest)
        if not found:
            break
        name = found["name"].rstrip(".,:")
        if name.startswith("--[no-]"):
            name = "--" + name[7:]
        own = found["value"].strip()
        if own.startswith("[") and own != "[" and ("=" in own or not own.startswith("[ ")):
            optional = True
        names.append(name)
        value = value or own.strip("[]=<>{} .")
        rest = rest[found.end() :].lstrip(" ]")
        separator = re.match(r"(,|\||/|or\b)\s*", rest)
        if not separator:
            # The name of a value with a blank in it, or two values.
            more = re.match(r"[^-]*?[,|]\s*(?=-)", rest)
            if not more:
                break
            rest = rest[more.end() :]
            continue
        rest = rest[separator.end() :]
    return [name for name in names if name not in ("-", "--")], value, optional


def variables_of(text):
    """The environment variables that a manual describes in its section about them."""
    section = re.search(r"^(?:ENVIRONMENT[A-Z ]*|Environment[a-z ]*:?)\n(.*?)(?=^\S|\Z)", text, re.M | re.S)
    result = []
    for found in re.finditer(
        r"^ +\$?([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*)(?:=\S+)?(?:, [A-Z_]+)*(?:  +(.*))?$\n?((?:^ {9,}.*\n|^\n)*)",
        section[1] if section else "",
        re.M,
    ):
        if len(found[1]) > 2:
            result.append((found[1], " ".join(f"{found[2] or ''} {found[3]}".split())[:300]))
    return result


def read(name, source, text):
    return Manual(name, source, options_of(text), variables_of(text))


def other_packages(folder, names, fetches):
    """Gets the packages of PyPI and npm, without running code of theirs, and returns where their programs are."""
    if fetches:
        for package in listed()["pypi"]:
            root = folder / "pypi" / package
            if not root.exists():
                subprocess.run(
                    [
                        "pip",
                        "install",
                        "--quiet",
                        "--disable-pip-version-check",
                        "--only-binary=:all:",
                        "--target",
                        root,
                        package,
                    ],
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    check=False,
                )
        for package in listed()["npm"]:
            root = folder / "npm" / package.replace("/", "_")
            if not root.exists():
                root.mkdir(parents=True)
                subprocess.run(
                    [
                        "npm",
                        "install",
                        "--silent",
                        "--ignore-scripts",
                        "--no-audit",
                        "--no-fund",
                        "--prefix",
                        root,
                        package,
                    ],
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    check=False,
                )
    result = {}
    for kind, inner in (("pypi", "bin"), ("npm", "node_modules/.bin")):
        for root in sorted((folder / kind).glob("*")):
            for path in (root / inner).glob("*"):
                if path.name in names:
                    result[path.name] = str(root.relative_to(folder))
    return result
