#!/bin/bash
# After a command: what a shell script does to write down an action. For the benchmark alone.
input=$(cat)
command=$(jq -r '.tool_input.command // empty' <<<"$input") || exit 0
read -r -a words <<<"$command"
level=warning service=NULL
case "$command" in
    "docker restart "*) message="Container restarted: $command" service="'${words[2]}'" ;;
    "docker compose up"*) message="Compose service started: $command" service="'${words[-1]}'" ;;
    "ansible-playbook "*) message="Ansible playbook executed: $command" ;;
    "helm upgrade "*) message="Helm upgrade: $command" service="'${words[2]}'" ;;
    "gh pr create"*) level=info message="Pull request created: $command" ;;
    "apprise "*) level=info message="Notification sent via Apprise" ;;
    *) exit 0 ;;
esac
session=$(jq -r '.session_id' <<<"$input")
sqlite3 "$CLAUDEOPS_STATE_DIR/claudeops.db" "INSERT INTO events (session_id, level, service, message, created_at)
    VALUES ('$session', '$level', $service, '${message//\'/\'\'}', datetime('now'));"
