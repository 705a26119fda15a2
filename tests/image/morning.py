"""Compares what ran on the host with the containers' own record, the ledger, the status, the report and the notifications.

  morning.py FOLDER   with: host/ran, host/flags/*.starts, ledger.json, notices.json, runs.json, status.json, report.html, heard
"""
import collections
import json
import re
import sys
from pathlib import Path

folder = Path(sys.argv[1])
rows = {name: json.loads((folder / f"{name}.json").read_text() or "[]") for name in ["ledger", "notices", "runs"]}
status = {of["service"]: of["restart"]["used"] for of in json.loads((folder / "status.json").read_text())["services"]}
report = re.sub(r"<svg.*?</svg>|<[^>]+>", " ", (folder / "report.html").read_text(), flags=re.S)
ran = collections.Counter(re.findall(r"restart .*?opsctl-night-(\w+)$", (folder / "host/ran").read_text(), flags=re.M))
ledger = {row["service"]: row["count"] for row in rows["ledger"]}
wrong = []


def same(what: str, found: object, expected: object) -> None:
    if found != expected:
        wrong.append(f"{what}: {found}, not {expected}")


print(f"  {'service':8} {'host':>5} {'container':>10} {'ledger':>7} {'status':>7} {'report':>7}")
for service in sorted(ran):
    starts = (folder / f"host/flags/{service}.starts").read_text().count("start") - 1
    shown = re.search(rf"\b{service}\s+restarts?\s+(\d+)/\d+", report)
    of_report = int(shown.group(1)) if shown else None
    print(f"  {service:8} {ran[service]:5} {starts:10} {ledger.get(service, 0):7} {status[service]:7} {of_report!s:>7}")
    for what, found in [("container", starts), ("ledger", ledger.get(service, 0)), ("status", status[service]), ("report", of_report)]:
        same(f"{service}, {what}", found, ran[service])
same("services without a restart", [name for name, used in status.items() if used and name not in ran], [])

heard = (folder / "heard").read_text()
received = collections.Counter(re.findall(r"^NOTICE (.*)$", heard, flags=re.M))
recorded = collections.Counter(row["title"] for row in rows["notices"])
# While the disk was full, it could not be recorded.
same("notifications of the full disk", received.pop("The guard has failed", 0), 1)
recorded.pop("The guard has failed", None)
same("notifications", received, recorded)
same("open states of notices", [row for row in rows["notices"] if row["state"] in ("pending", "sending", "failed")], [])

verifications = collections.Counter(re.findall(r"^REQUEST verifier (\S+)", heard, flags=re.M))
requests = collections.Counter(re.findall(r"^REQUEST tier (\d)", heard, flags=re.M))
acted = [row for row in rows["runs"] if row["outcome"] == "completed" and row["acted"]]
same("verifications by a model", len(verifications), len(acted))
same("open sessions", [row for row in rows["runs"] if row["outcome"] in ("running", "waiting")], [])
outcomes = collections.Counter(f"tier {row['tier']} {row['outcome']}" for row in rows["runs"])
print(f"  sessions: {', '.join(f'{count} {what}' for what, count in sorted(outcomes.items()))}")
print(f"  requests to the model: {requests['1']} of tier 1, {requests['2']} of tier 2, {sum(verifications.values())} of verifiers")
print(f"  notifications: {', '.join(f'{count} × {title}' for title, count in sorted(received.items()))}")
sys.exit("FAILED: " + "; ".join(wrong) if wrong else 0)
