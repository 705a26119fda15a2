# A fault, in a mount namespace, while a session restarts a service: once before the fault, twice during it, once after it. Prints a
# line for each step: its name, exit code and duration in milliseconds, and leaves its output in files.
# $1: what is done; $2: how it is undone; $3: how opsctl runs meanwhile; $4: the options of a disk for the state folder. Then opsctl.
set -e
do=$1 undo=$2 with=$3 disk=$4 opsctl=$5
plain='exec "$@"' state=$PWD/state db=$PWD/state/claudeops.db
: "${with:=$plain}"
run() { # run NAME WITH ARGUMENT...
    local name=$1 as=$2 began code=0
    shift 2
    began=$(date +%s%N)
    # Without root's right to ignore permissions; through pipes, so that limits do not apply to the files.
    timeout -s KILL 30 setpriv --bounding-set=-dac_override,-dac_read_search --inh-caps=-dac_override,-dac_read_search \
        sh -c "$as" sh "$opsctl" "$@" > >(cat >"$name.out") 2> >(cat >"$name.err") || code=$?
    echo "$name $code $((($(date +%s%N) - began) / 1000000))"
}
flush() { # all is in the file, and it has no write-ahead log
    echo 'PRAGMA wal_checkpoint(TRUNCATE)' | sqlite3 "$db" >/dev/null
    rm -f "$db-wal" "$db-shm"
}
away() {
    mkdir away
    mv "$db"* away
}
back() { mv away/* "$state"; }
hook() { # hook NAME WITH EVENT ID [SERVICE]
    sed "s/ID/$4/; s/SERVICE/${5:-jellyfin}/" call.json >input
    run "$1" "$2" hook "$3" <input
}
mkdir "$state"
[ -z "$disk" ] || mount -t tmpfs -o "$disk" tmpfs "$state"
if [ -z "$fresh" ]; then
    hook start "$plain" session-start start
    hook before1 "$plain" pre-tool-use t1
    hook after1 "$plain" post-tool-use t1
    if [ -f "$db" ]; then
        # Ten minutes earlier: records within two minutes could be of one action.
        at=$(date -u -d '-10 minutes' +%FT%TZ)
        sqlite3 -cmd '.dbconfig no_ckpt_on_close on' "$db" \
            "UPDATE cooldown_actions SET timestamp = '$at'; UPDATE hook_actions SET reserved_at = '$at'" >/dev/null
        sed -i 's/"timestamp": ".*"/"timestamp": "'"$at"'"/' "$state/cooldown.json"
    fi
fi
eval "$do"
hook before2 "$with" pre-tool-use t2 >second
cat second
if grep -q 'before2 [013]' second; then hook after2 "$with" post-tool-use t2; fi
hook before3 "$with" pre-tool-use t3
run doctor "$with" doctor --only ledger </dev/null
run status "$with" status --no-hosts </dev/null
eval "$undo"
hook before4 "$plain" pre-tool-use t4
hook after5 "$plain" post-tool-use t5 sonarr
run events "$plain" events --json </dev/null
rm -rf "$state/cooldown.json"
run count "$plain" cooldown show jellyfin --json </dev/null
wait
