#!/bin/bash -p
# A lookup: no effect, and the exit status that the case asks for, so that both branches of a script are seen.
if [[ ${0##*/} == sleep ]]; then
  # It does not sleep, except in a loop that would not end: the time limit of the case ends that.
  printf . >> /oracle/naps
  read -r naps < /oracle/naps
  ((${#naps} > 3)) && read -r -t 30 <> <(:)
  exit 0
fi
read -r status < /oracle/status
exit "${status:-0}"
