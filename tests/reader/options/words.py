"""What the text of a manual says that an option does."""

import re

STARTS = re.compile(
    r"\b(?:runs?|execut(?:e|es|ed|ing)|invok(?:e|es|ed|ing)|call(?:s|ed)?|spawn(?:s|ed)?|pip(?:e|es|"
    r"ed|ing)|launch(?:es|ed)?|pass(?:es|ed)?"
    r" (?:it )?to)\b[^.;]{0,60}\b(?:commands?|programs?|scripts?|shell|executables?|binary|binaries|"
    r"helpers?|pager|editor|filter|tool|ssh|rsh)\b"
    r"|\b(?:commands?|programs?|scripts?|executables?|binary|helper)\b[^.;]{0,40}\b(?:to (?:run|"
    r"execute|use|invoke|call|be run)|(?:is|are|will be) (?:run|executed|"
    r"invoked|called)|for each)\b"
    r"|\b(?:load|loads|loaded|loading|import|imports|require|preload|"
    r"dlopen)\b[^.;]{0,50}\b(?:modules?|plug-?ins?|librar(?:y|ies)|shared objects?|extensions?|"
    r"drivers?|scripts?|engine|provider|classes|class)\b"
    r"|\b(?:shared object|shared library|plug-?in|pkcs#?11|engine|loadable|javascript|lua|perl|python|"
    r"ruby|tcl) (?:code|module|plugin|library|script|expression|file|path|to)\b"
    r"|\buse [^.;]{0,30}\bas (?:the |a )?(?:\w+ )?(?:pager|editor|shell|command|program|linker|compiler|askpass)\b"
    r"|\b(?:remote shell|proxycommand|path (?:to|of) (?:the )?[\w-]+ (?:program|binary|executable|command))\b",
    re.I,
)
STARTING_VALUE = re.compile(
    r"^(?:.*[-_ /])?(?:command|cmd|program|prog|exec|executable|script|plugin|module|library|lib|"
    r"shell|editor|pager|binary|code|helper|engine|provider|agent|hook)s?(?:[-_ ].*)?$",
    re.I,
)
WRITES = re.compile(
    r"\b(?:writ(?:e|es|ten|ing)|sav(?:e|es|ed|ing)|stor(?:e|es|ed|ing)|dump(?:s|ed)?|sen[dt]s?|"
    r"log(?:s|ged|ging)?|record(?:s|ed)?|append(?:s|ed)?|"
    r"redirect(?:s|ed)?|output(?:s)?|export(?:s|ed)?|creat(?:e|es|ed)|generat(?:e|es|ed)|place(?:s|"
    r"d)?|put)\b[^.;]{0,60}\b(?:to|in|into|at|as)?\b[^.;]{0,20}"
    r"\b(?:files?|filename|director(?:y|ies)|folder|path|FILE|disk|log|socket|pidfile)\b"
    r"|\b(?:output|log|trace|pid|dump|report|cache|history|state|lock|debug|profile|temporary|temp|"
    r"spool) ?(?:files?|director(?:y|ies)|path|folder|name)\b",
    re.I,
)
CONFIGURES = re.compile(
    r"\b(?:config(?:uration)?s?|settings?|rc|defaults|options|preferences|init(?:iali[sz]ation)?|"
    r"startup|profile) ?(?:files?|director(?:y|ies)|path|folder)\b"
    r"|\bread(?:s|ing)? (?:the )?(?:\w+ )?(?:options|configuration|settings|defaults|commands|"
    r"directives)\b|\bfile (?:of|with|containing) (?:commands|options|settings|directives)\b"
    r"|\b(?:home|plugin|module|template|policy|policies|rules?|macro|ruleset) ?(?:files?|director(?:y|"
    r"ies)|path)\b",
    re.I,
)
CHANGES = re.compile(
    r"^(?:\W|also |then |forcibly |attempts? to |immediately |actually |this option |causes? \S+ to |tells? \S+ to )*"
    r"(?:delet|remov(?:e|es|ing) |eras|wip|(?:set|change|modif|updat|reset)\w* (?:the |a |"
    r"an )?(?:\w+ ){0,2}(?:clock|time|device|kernel|database|cache|system|file|password|"
    r"state|status|attribute|flag|permission|owner|host|remote|counter|index|table|rule|key|label|"
    r"partition|superblock|metadata|repositor|parameter)|kill|terminat|clear|"
    r"stop (?:the )?(?:server|daemon|service|process)|starts? (?:the |a )?(?:server|daemon|service|"
    r"process)|restart|reload|install|upgrad|upload|sends? (?:a |the )?(?:signal|mail|message)|"
    r"saves? |renam|replace (?:the )?(?:file|original|existing)|fix |fixes|repair|truncat|rotat|"
    r"unmount|flush|purg|unregister|shut ?down|reboot|"
    r"unlock|format (?:the )?(?:device|disk|drive)|edit |edits |execut|runs? (?:the |a |in the |"
    r"as a? ?daemon)|daemon|fork|import|append to|commit|push|drop|rebuild|regenerat|vacuum)",
    re.I,
)
# What an option without a value does by its long name: `-r, --reset`.
ACTING_NAME = re.compile(
    r"^--?(?:daemon(?:i[sz]e)?|background|fork|detach|reset|clear|clean|cleanup|flush|purge|delete|remove|rm|erase|wipe|"
    r"unlink|kill|save|repair|fix|update|upgrade|install|write|in-?place|extract|create|rebuild|restart|shutdown|reload|"
    r"upload|register|rename|unlock|u(?:n)?mount)(?:[-_]|$)"
)
# What its text states: it goes into the background, writes a file, or ends what was there.
ACTING_TEXT = re.compile(
    r"\b(?:runs?|go(?:es)?|forks?|detach(?:es)?|start(?:s|ed)?|becomes?)\b[^.;]{0,30}\b(?:background|daemon)"
    r"|\bdaemoni[sz]e"
    r"|\b(?:writ|sav|stor|dump|record|append)(?:e|es|s|ed|ing|ten)?\b[^.;]{0,60}\b(?:to|in|into|as)\b[^.;]{0,40}"
    r"\b(?:files?|director(?:y|ies)|disk)\b"
    r"|^(?:resets?|clears?|deletes?|removes?|erases?|flush(?:es)?|purges?)\b",
    re.I,
)
# Nothing is done, or less.
HARMLESS_TEXT = re.compile(r"^(?:do(?:es)? not|don.t|never|no |disables?|prevents?|list|only|show|print)\b", re.I)
SECRETS = re.compile(
    r"\b(?:shows?|prints?|displays?|dumps?|reveals?|includes?|outputs?|collects?|do(?:es)? not (?:hide|mask)|unmask)\b"
    r"[^.;]{0,60}\b(?:secrets?|passwords?|passphrases?|private keys?|credentials?|tokens?)\b",
    re.I,
)
FILE_VALUE = re.compile(
    r"^(?:.*[-_ /])?(?:file|filename|path|pathname|dir|directory|folder|db|database|conf|config|log|"
    r"socket|pidfile|outfile|output|root|image)s?(?:[-_ ].*)?$",
    re.I,
)
NUMBER_VALUE = re.compile(
    r"^(?:n|num|number|count|int|integer|uint|int32|seconds?|secs?|sec|ms|level|size|bytes?|kb|port|"
    r"width|lines?|cols?|depth|max|min|limit|timeout|time|interval|duration|float|pid|uid|gid"
    r"|percent|ttl|delay|days?|hours?|minutes?|length|offset|columns?|height|threads?|jobs?)$",
    re.I,
)

# Parts of names that suggest more than a text.
SUGGESTIVE = {
    "starts": [
        "command",
        "cmd",
        "program",
        "exec",
        "plugin",
        "module",
        "helper",
        "script",
        "hook",
        "pager",
        "editor",
        "shell",
        "library",
        "engine",
        "agent",
        "binary",
    ],
    "configures": ["config", "conf", "profile", "rcfile", "settings", "options"],
    "outputs": ["output", "log", "out", "trace", "dump", "save", "record", "cache", "pid"],
    "inputs": ["file", "path", "dir"],
}


def judge(option):
    """The roles that the text and the names of an option suggest, most dangerous first."""
    roles = []
    name = " ".join(option.names).lower()
    if STARTING_VALUE.match(option.value) or option.value and STARTS.search(option.text):
        roles.append("starts")
    if option.value and CONFIGURES.search(option.text) or re.search(r"--?(?:\w+-)*(?:config|conf|rc)\b", name):
        roles.append("configures")
    if option.value and (WRITES.search(option.text) or re.search(r"output|-out\b|log|trace|dump|cache", name)):
        roles.append("outputs")
    if option.value and FILE_VALUE.match(option.value):
        roles.append("inputs")
    if CHANGES.search(option.text) or not option.value and acts(option):
        roles.append("changes")
    if SECRETS.search(option.text):
        roles.append("secrets")
    return roles


def acts(option):
    """Whether an option without a value does more than read, by the names and the text that it shares with them."""
    if any(ACTING_NAME.match(name) for name in option.names):
        return True
    return bool(ACTING_TEXT.search(option.text)) and not HARMLESS_TEXT.match(option.text)


def suggests(name):
    """The role that a part of a name suggests."""
    parts = re.split(r"[-_.:]", name.lstrip("-").lower())
    endings = ("", "s", "file", "dir", "path")
    for role, words in SUGGESTIVE.items():
        for word in words:
            if any(part in [word + ending for ending in endings] or len(word) > 3 and word in part for part in parts):
                return role
    return None


def harmless(option):
    """A value with which the option does nothing beside its purpose."""
    choices = option.value.strip("{}").split(",") if "," in option.value else option.value.split("|")
    if len(choices) > 1 and all(re.fullmatch(r"[a-z][\w-]*", choice) for choice in choices):
        return choices[0]
    if NUMBER_VALUE.match(option.value):
        return "5"
    return "/etc/hosts" if FILE_VALUE.match(option.value) else "x"
