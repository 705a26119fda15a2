"""The night's only way out: a model that does what files tell it, and the sink of notifications. Prints a line for each.

A new session of a tier takes its commands from /control/tier1.json or /control/tier2.json, once. Without one, it looks around.
"""
import json
import os
import re
import threading

import model

LOOK = {"1": ["ssh root@127.0.0.1 docker ps", "opsctl status --no-hosts"], "2": []}
plans: dict[str, list[str]] = {}
lock = threading.Lock()


def session_of(request: dict) -> str:
    found = re.findall(r"[0-9a-f]{8}-[0-9a-f-]{27}", request.get("metadata", {}).get("user_id", ""))
    return found[-1] if found else "none"


def taken(tier: str) -> list[str]:
    path = f"/control/tier{tier}.json"
    if not os.path.exists(path):
        return LOOK[tier]
    commands = json.load(open(path))
    os.remove(path)
    return commands


def next_step(request: dict) -> dict:
    tools = {tool["name"] for tool in request.get("tools", [])}
    session, text = session_of(request), json.dumps(request["messages"])
    if "StructuredOutput" in tools:
        print(f"REQUEST verifier {session}", flush=True)
        return {"type": "tool_use", "name": "StructuredOutput", "input": {"ok": True}}
    tier = re.search(r"# Tier (\d)", text)
    if not tier or not tools:
        return {"type": "text", "text": "done"}
    print(f"REQUEST tier {tier.group(1)} {session}", flush=True)
    with lock:
        if session not in plans:
            plans[session] = taken(tier.group(1))
    done = text.count('"tool_result"')
    if done < len(plans[session]):
        return {"type": "tool_use", "name": "Bash", "input": {"command": plans[session][done], "description": "a step"}}
    return {"type": "text", "text": "done"}


class Night(model.Handler):
    def do_POST(self):
        if self.path.startswith("/notify"):
            notice = json.loads(self.rfile.read(int(self.headers["content-length"])))
            print(f"NOTICE {notice['title']}", flush=True)
            self.answer("application/json", "{}")
        else:
            super().do_POST()


model.next_step = next_step
model.serve(Night)
