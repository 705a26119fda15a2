#!/bin/bash -p
# The rest of `acts.sh`, for programs that also answer or run the words that follow.
#
#   inside.sh STATUS PROGRAM WORDS…
#
# shellcheck source=tests/support/sandbox/options.sh
. /oracle/options.sh
status=$1 name=$2
shift 2

inside() { (($#)) && exec env -i PATH=/usr/bin HOME=/root "$@"; exit 0; }

containers() {
  take_options 'Hcl' 'host context config log-level namespace' "$@"
  set -- "${rest[@]}"
  [[ ${1-} == container ]] && shift
  case ${1-} in
  ps | ls)
    ((status)) && return
    case " $* " in
    *format*) printf 'jellyfin\nsonarr\n' ;;
    *' -q'* | *' -aq'* | *quiet*) printf 'c0ffee01\nc0ffee02\n' ;;
    *) printf 'CONTAINER ID   NAMES\nc0ffee01   jellyfin\nc0ffee02   sonarr\n' ;;
    esac
    ;;
  exec) shift; take_options 'euw' 'env user workdir env-file detach-keys' "$@"; inside "${rest[@]:1}" ;;
  run)
    shift
    take_options 'evnpuwhlmc' 'name volume env network net publish user workdir entrypoint pid mount hostname label memory cpus restart env-file' "$@"
    inside "${rest[@]:1}"
    ;;
  compose) shift; compose "$@" ;;
  esac
}

compose() {
  take_options 'fpH' 'file project-name project-directory env-file profile ansi progress host' "$@"
  set -- "${rest[@]}"
  [[ ${1-} == exec ]] || return 0
  shift
  take_options 'euw' 'env user workdir index' "$@"
  inside "${rest[@]:1}"
}

case $name in
docker | podman | nerdctl) containers "$@" ;;
docker-compose | podman-compose) compose "$@" ;;
kubectl)
  take_options 'n' 'namespace context kubeconfig' "$@"
  if [[ ${rest[0]-} == exec ]]; then
    for ((i = 1; i <= $#; i++)); do
      [[ ${!i} == -- ]] && inside "${@:i+1}"
    done
  fi
  ;;
esac
exit "$status"
