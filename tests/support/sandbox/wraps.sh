#!/bin/bash -p
# Plays the programs that run other programs, with the options, the joining of words and the environment of the real one.
# shellcheck source=tests/support/sandbox/options.sh
. /oracle/options.sh
name=${0##*/}
clean=(env -i PATH=/usr/bin HOME=/root)

run() { (($#)) && exec "$@"; exit 0; }
run_clean() { (($#)) && exec "${clean[@]}" "$@"; exit 0; }

far_shell() { # HOST, and the words after it
  local host=$1
  shift
  host=${host#ssh://} host=${host##*@} host=${host%%:*}
  # The real ssh joins its words with blanks and leaves the reading to the shell over there.
  if (($#)); then set -- -c "$*"; else set --; fi
  # shellcheck disable=SC2016 # for the shell over there
  exec -c /usr/bin/unshare --uts /bin/bash -c 'export PATH=/usr/bin HOME=/root; hostname "$1" && cd && shift && exec bash "$@"' ssh "$host" "$@"
}

play_ssh() {
  local values='BbcDEeFIiJLlmOopQRSWw' host seen=''
  take_options "$values" '' "$@"
  seen+=$flags
  [[ -v value[O] || -v value[W] || -v value[Q] ]] && exit 0
  ((${#rest[@]})) || exit 0
  host=${rest[0]}
  if [[ ${rest[1]-} == -?* ]]; then
    take_options "$values" '' "${rest[@]:1}"
    seen+=$flags
  else
    rest=("${rest[@]:1}")
  fi
  case $seen in *[NVG]*) exit 0 ;; esac
  [[ $seen == *[nf]* ]] && exec < /dev/null
  far_shell "$host" "${rest[@]}"
}

play_sudo() {
  take_options 'ugpCDhrtTRU' 'user group prompt close-from chdir host role type chroot other-user' "$@"
  case $flags in *[lveKkV]*) [[ ${#rest[@]} -eq 0 || $flags == *[le]* ]] && exit 0 ;; esac
  [[ $flags == *S* ]] && read -r _
  [[ $flags == *E* ]] && clean=(env)
  [[ $flags == *i* ]] && { cd /root || exit; }
  while [[ ${rest[0]-} == [A-Za-z_]*=* ]]; do clean+=("${rest[0]}"); rest=("${rest[@]:1}"); done
  if ((${#rest[@]} == 0)) && [[ $flags == *[is]* ]]; then rest=(bash); fi
  run_clean "${rest[@]}"
}

play_su() {
  local words=() command has_command='' login=''
  while (($#)); do
    case $1 in
    -) login=1; shift ;;
    -?*)
      take_options 'csgGTw' 'command shell group supp-group' "$@"
      [[ $flags == *l* || $flags == *' login '* ]] && login=1
      if [[ -v value[c] ]]; then command=${value[c]} has_command=1; fi
      if [[ -v value[command] ]]; then command=${value[command]} has_command=1; fi
      set -- "${rest[@]}"
      ;;
    *) words+=("$1"); shift ;;
    esac
  done
  [[ -n $login ]] && { cd /root || exit; }
  if [[ -n $has_command ]]; then run_clean bash -c "$command" bash "${words[@]:1}"; fi
  run_clean bash "${words[@]:1}"
}

case $name in
ssh) play_ssh "$@" ;;
autossh) [[ ${1-} == -M ]] && shift 2; play_ssh "$@" ;;
sshpass) take_options 'pfdP' '' "$@"; run "${rest[@]}" ;;
sudo) play_sudo "$@" ;;
doas)
  take_options 'uCa' '' "$@"
  if ((${#rest[@]} == 0)) && [[ $flags == *s* ]]; then rest=(bash); fi
  run_clean "${rest[@]}"
  ;;
su) play_su "$@" ;;
runuser)
  take_options 'ugGcs' 'user' "$@"
  if [[ -v value[u] || -v value[user] ]]; then run "${rest[@]}"; fi
  play_su "$@"
  ;;
chroot) take_options '' 'userspec groups' "$@"; rest=("${rest[@]:1}"); ((${#rest[@]})) || rest=(bash); run "${rest[@]}" ;;
nsenter) take_options 'tSG' 'target setuid setgid' "$@"; ((${#rest[@]})) || rest=(bash); run "${rest[@]}" ;;
systemd-run)
  take_options 'HMupE' 'unit property description slice uid gid nice setenv host machine service-type working-directory on-active on-boot on-calendar on-unit-active timer-property path-property' "$@"
  run_clean "${rest[@]}"
  ;;
strace) take_options 'abeEIopPsSuUXO' '' "$@"; run "${rest[@]}" ;;
script)
  take_options 'cOIBomTE' 'command log-out log-in log-io output-limit echo' "$@"
  [[ -v value[c] ]] && run bash -c "${value[c]}"
  [[ -v value[command] ]] && run bash -c "${value[command]}"
  exit 0
  ;;
watch)
  take_options 'nq' 'interval equexit' "$@"
  ((${#rest[@]})) || exit 0
  [[ $flags == *x* || $flags == *' exec '* ]] && run "${rest[@]}"
  run sh -c "${rest[*]}"
  ;;
parallel)
  take_options 'jPnNS' 'jobs max-procs' "$@"
  words=() given=() after=''
  for word in "${rest[@]}"; do
    if [[ $word == ::: ]]; then after=1; elif [[ -n $after ]]; then given+=("$word"); else words+=("$word"); fi
  done
  [[ -n $after ]] || mapfile -t given
  line=${words[*]}
  for word in "${given[@]}"; do
    printf -v word %q "$word"
    if [[ $line == *'{}'* ]]; then bash -c "${line//'{}'/"$word"}"; else bash -c "$line $word"; fi
  done
  ;;
tmux)
  take_options 'LSfc' '' "$@"
  set -- "${rest[@]}"
  verb=${1-}
  shift
  case $verb in
  new | new-session | neww | new-window | splitw | split-window | respawn-pane)
    take_options 'sncteFxyp' '' "$@"
    if ((${#rest[@]} == 1)); then run sh -c "${rest[0]}"; fi
    run "${rest[@]}"
    ;;
  send | send-keys)
    take_options 'tN' '' "$@"
    text=''
    for word in "${rest[@]}"; do
      case $word in
      Enter | C-m) bash -c "$text"; text='' ;;
      Space) text+=' ' ;;
      *) text+=$word ;;
      esac
    done
    ;;
  esac
  ;;
screen)
  take_options 'SctpTshe' '' "$@"
  if [[ $flags == *X* ]]; then [[ ${rest[0]-} == stuff ]] && run bash -c "${rest[1]-}"; exit 0; fi
  [[ $flags == *m* ]] && run "${rest[@]}"
  exit 0
  ;;
busybox | k3s) run "$@" ;;
at | batch) run_clean sh ;;
pct | lxc | incus)
  [[ ${1-} == exec ]] || exit 0
  shift
  take_options '' '' "$@"
  set -- "${rest[@]:1}"
  take_options 'TtnN' 'user group cwd env mode project' "$@"
  run_clean "${rest[@]}"
  ;;
uv) [[ ${1-} == run ]] || exit 0; shift; take_options 'pP' 'with python project directory extra group' "$@"; run "${rest[@]}" ;;
pipenv | poetry) [[ ${1-} == run ]] || exit 0; shift; run "$@" ;;
esac
exit 0
