#!/bin/bash
# A session begins: what a shell script does to tell the agent where it stands. For the benchmark alone.
echo "=== Session Context ==="
echo "Cooldown State:"
now=$(date +%s)
jq -r --argjson now "$now" '
    def recent($key; $hours): [.[$key][]? | fromdateiso8601 | select(. > $now - $hours * 3600)] | length;
    .services | to_entries[] | "  \(.key): \(.value | recent("restart_timestamps"; 4))/2 restarts (4h), \(.value | recent("redeployment_timestamps"; 24))/1 redeployments (24h)"
' "$CLAUDEOPS_STATE_DIR/cooldown.json" 2>/dev/null || echo "  No data available"
echo "Recent Events (last 10):"
sqlite3 -separator ' | ' "$CLAUDEOPS_STATE_DIR/claudeops.db" \
    "SELECT created_at, level, coalesce(service, '-'), message FROM events ORDER BY created_at DESC LIMIT 10" 2>/dev/null || echo "  No data available"
echo "Host Connectivity:"
for host in $BENCHMARK_HOSTS; do
    ping -c1 -W2 "$host" >/dev/null 2>&1 && echo "  $host: reachable" || echo "  $host: unreachable"
done
