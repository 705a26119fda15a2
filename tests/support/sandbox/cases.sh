#!/bin/bash
# Reads cases (working directory, exit status of the lookups, text, number of files, path and text of each; each ended by
# NUL) and runs one after the other.
# The stand-ins write to the records what they were asked for; after each case follow `end` and the first of the
# complaints. All records are printed at the end.
umount -l /oracle/old
seconds=$1
shopt -s nullglob dotglob extglob
: > /oracle/log
while IFS= read -r -d '' folder && IFS= read -r -d '' status && IFS= read -r -d '' text; do
  IFS= read -r -d '' count || exit 4
  files=()
  for ((; count > 0; count--)); do
    IFS= read -r -d '' path && IFS= read -r -d '' content || exit 4
    mkdir -p -- "${path%/*}" && printf '%s' "$content" > "$path" && chmod +x -- "$path"
    files+=("$path")
  done
  printf '%s' "$status" > /oracle/status
  [[ -d $folder ]] || mkdir -p -- "$folder"
  cd -- "$folder" || exit 4
  # What a case reads or looks for: the reader cannot know it, the run can.
  printf 'jellyfin\nsonarr\n' > services.txt
  : > restart.flag
  # Descriptor 9 stays open in everything that the case leaves running: its end is the end of the last of them.
  exec 8< <(exec bash --norc --noprofile -c "$text" 9>&1 >/oracle/out 2>/oracle/err </dev/null 8<&-)
  IFS= read -r -d '' -t "$seconds" -u 8 _
  if (($? > 128)); then
    kill -KILL -1
    IFS= read -r -d '' -u 8 _
  fi
  exec 8<&-
  cd /
  IFS= read -r -d '' -n 400 complaint < /oracle/err
  printf '%s\0' end "$complaint" >> /oracle/log
  left=(/tmp/* /root/* /app/!(services.txt|restart.flag) /state/* /results/* /oracle/nap[s])
  ((${#files[@]})) && rm -f -- "${files[@]}"
  ((${#left[@]})) && rm -rf -- "${left[@]}"
done
cat /oracle/log
