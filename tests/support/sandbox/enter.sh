#!/bin/bash
# Builds the oracle's world and runs the cases in it. Started by `unshare` as the root user of fresh namespaces.
#
#   enter.sh STAND-INS SCRATCH SECONDS < cases > records
#
# The world is a file system in memory that holds the programs named below (copied, with their libraries), the
# stand-ins under the names of everything that could act, and nothing else of the machine: everything that a case
# destroys is gone with the namespace.
set -euo pipefail
stand_ins=$1 scratch=$2 seconds=$3

# Programs that run as they are: they touch nothing but files, or run the command that they are given.
real=(bash awk base64 basename cat chmod cp cut date dirname env expr find flock grep head hostname id ionice
  ln ls mkdir mv nice nohup paste perl rm sed seq setsid sort stat stdbuf tail tee test time timeout touch tr
  true false umount uname uniq unshare wc xargs mktemp sync kill)

missing() { printf 'the sandbox cannot be built: %s\n' "$1" >&2; exit 3; }

mount --make-rprivate / || missing 'mounts cannot be made private'
mount -t tmpfs -o mode=0755 oracle "$scratch" || missing 'no file system in memory'
cd "$scratch"
mkdir -p usr/bin usr/lib usr/libexec proc dev tmp root oracle/old etc/init.d app state results \
  opt/{jellyfin,sonarr,vaultwarden,media/jellyfin,stacks/immich} srv/{nextcloud,x} repos/infra/playbooks mnt/root
ln -s bin usr/sbin; ln -s usr/bin bin; ln -s usr/bin sbin; mkdir -p usr/local; ln -s ../bin usr/local/bin
chmod 1777 tmp

paths=()
for name in "${real[@]}"; do
  path=$(type -P "$name") || missing "no program \`$name\` on this machine"
  paths+=("$path")
done
cp -L -- "${paths[@]}" usr/bin
# The same bash starts a third sooner without shared libraries, and it starts ten thousand times.
if static=$(type -P bash-static); then cp -L -- "$static" usr/bin/bash; fi
# stdbuf works through a library that the loader preloads.
libraries=$(ldd "${paths[@]}" 2>/dev/null | grep -o '/[^ ]*lib[^ :]*' | sort -u)
for buffer in /usr/libexec/coreutils/libstdbuf.so /usr/lib/*/coreutils/libstdbuf.so /usr/lib/coreutils/libstdbuf.so; do
  [[ -e $buffer ]] && libraries+=$'\n'$buffer
done
while read -r library; do cp -L --parents -- "$library" .; done <<< "$libraries"
for shell in sh dash ash zsh ksh rbash; do ln -s bash "usr/bin/$shell"; done

cp -- "$stand_ins"/*.sh oracle/
chmod +x oracle/*.sh
if dash=$(type -P dash); then
  cp -L -- "$dash" oracle/dash
  sed -i '1s|.*|#!/oracle/dash|' oracle/acts.sh
fi
while read -r name role; do
  [[ -z $name || $name == '#'* ]] && continue
  ln -sf "/oracle/$role.sh" "usr/bin/$name"
done < "$stand_ins/names"
ln -s /oracle/acts.sh etc/init.d/nginx
ln -s /oracle/acts.sh etc/init.d/networking

printf 'root:x:0:0:root:/root:/bin/bash\n' > etc/passwd
printf 'root:x:0:\n' > etc/group
for device in null zero urandom tty; do touch "dev/$device"; mount --bind "/dev/$device" "dev/$device"; done
ln -s /proc/self/fd dev/fd; ln -s fd/0 dev/stdin; ln -s fd/1 dev/stdout; ln -s fd/2 dev/stderr
# A container may forbid a proc of one's own; the one that is there serves as well.
mount -t proc proc proc 2>/dev/null || mount --rbind /proc proc || missing 'no /proc'
hostname here || missing 'the host cannot be named'
pivot_root . oracle/old
cd /
exec env -i PATH=/usr/bin HOME=/root chroot . /bin/bash --norc --noprofile /oracle/cases.sh "$seconds"
