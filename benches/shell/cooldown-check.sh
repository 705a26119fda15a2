#!/bin/bash
# Before a command: what a shell script does to hold a budget. For the benchmark alone: a quoted command slips past it.
input=$(cat)
command=$(jq -r '.tool_input.command // empty' <<<"$input") || exit 0
read -r -a words <<<"$command"
kind='' service=''
case "$command" in
    "docker restart "* | "docker stop "* | "docker start "*) kind=restart service=${words[2]} ;;
    "docker compose up"* | "docker compose restart"*) kind=restart service=${words[-1]} ;;
    "ansible-playbook "*) kind=redeployment service=$(basename "${words[1]}" .yml) service=${service#redeploy-} ;;
    "helm upgrade "*) kind=redeployment service=${words[2]} ;;
esac
[ -n "$kind" ] || exit 0
case $kind in
    restart) hours=4 limit=2 key=restart_timestamps ;;
    *) hours=24 limit=1 key=redeployment_timestamps ;;
esac
file=$CLAUDEOPS_STATE_DIR/cooldown.json
[ -f "$file" ] || { echo "no $file" >&2; exit 0; }
since=$(($(date +%s) - hours * 3600))
recent=$(jq --arg service "$service" --arg key "$key" --argjson since "$since" \
    '[.services[$service][$key][]? | fromdateiso8601 | select(. > $since)] | sort' "$file") || exit 0
count=$(jq length <<<"$recent")
[ "$count" -ge "$limit" ] || exit 0
next=$(date -u -d "@$(($(jq '.[0]' <<<"$recent") + hours * 3600))" +%Y-%m-%dT%H:%M:%SZ)
echo "Cooldown limit exceeded for $service: $count/$limit ${kind}s in last ${hours}h. Next allowed at $next." >&2
exit 2
