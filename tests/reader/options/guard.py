"""Asks the guard about many commands at once."""

import json
import re
import shlex
import subprocess
from concurrent.futures import ThreadPoolExecutor

BATCH = 250
SECRET = re.compile(r"^Secret: `(/etc/shadow-\d+)`")


class Guard:
    def __init__(self, program, tier="1"):
        self.command = [program, "explain", "--tier", tier, "--json", "-"]

    def explain(self, script):
        done = subprocess.run(
            self.command, input=script, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False
        )
        return (
            json.loads(done.stdout)
            if done.stdout.startswith("{")
            else {"decision": "deny", "parts": [], "reasons": ["no answer"]}
        )

    def batch(self, numbered):
        """For each command, why it is not a read; an empty text if it reads."""
        lines = []
        for number, command in numbered:
            lines += [f"echo @{number}", command]
        answer = self.explain("\n".join(lines) + "\n")
        secrets = {found[1] for found in map(SECRET.match, answer["reasons"]) if found}
        result, current = {}, None
        for part in answer["parts"]:
            marker = re.fullmatch(r"echo @(\d+)", part["command"])
            if marker:
                current = int(marker[1])
                result.setdefault(current, None)
            elif current is not None:
                why = "" if part["effect"] == "reads" else f"{part['effect']}: {part['why']}"
                result[current] = result[current] or why
        for number, command in numbered:
            if any(secret in command for secret in secrets if re.search(rf"{secret}\b", command)):
                result[number] = "secret"
            if result.get(number) is None:
                # The parts of a command that cannot be read have no marker of their own.
                alone = self.explain(command)
                result[number] = "" if alone["decision"] == "allow" else (alone["reasons"] or ["denied"])[0]
        return result

    def ask(self, commands):
        """For each command, why it is not a read; an empty text if it reads."""
        numbered = list(enumerate(commands))
        parts = [numbered[start : start + BATCH] for start in range(0, len(numbered), BATCH)]
        result = {}
        with ThreadPoolExecutor(2) as pool:
            for answers in pool.map(self.batch, parts):
                result.update(answers)
        return [result[number] for number, _ in numbered]


def quoted(words):
    return " ".join(shlex.quote(word) for word in words)
