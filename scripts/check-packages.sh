#!/usr/bin/env bash
# Makes the Debian packages of build/release, installs them in a bare Debian 12, runs what they bring, and removes them: nothing
# may be left behind. Takes root and mmdebstrap; the packages come from this machine's own package sources.
# Exit codes: 0 good, 1 a check failed, 3 something needed is missing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [ "$(id -u)" -ne 0 ] || ! command -v mmdebstrap >/dev/null; then
  echo "check-packages: this takes root and mmdebstrap" >&2
  exit 3
fi

work=$(mktemp -d)
root=$work/root
unmount() {
  local folder
  for folder in proc dev; do
    if mountpoint -q "$root/$folder"; then umount -l "$root/$folder"; fi
  done
}
trap 'unmount; rm -rf --one-file-system "$work"' EXIT
fail() {
  echo "check-packages: $1" >&2
  [ ! -f "$work/log" ] || tail -n 20 "$work/log" >&2
  exit 1
}

cmake --build build/release >"$work/log" || fail "the build failed"
cpack --config build/release/CPackConfig.cmake -B "$work/packages" >"$work/log" 2>&1 || fail "cpack failed"
ls "$work"/packages/*.deb

sources=(/etc/apt/sources.list.d/debian.sources)
[ -f "${sources[0]}" ] || sources=(/etc/apt/sources.list)
mmdebstrap --mode=root --quiet --variant=apt bookworm "$root" "${sources[@]}" >"$work/log" 2>&1 || fail "no bare Debian"
find /etc/apt/apt.conf.d -name '99*' -exec cp {} "$root/etc/apt/apt.conf.d/" \;
cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
mount -t proc proc "$root/proc"
mount --bind /dev "$root/dev"
mkdir "$root/packages"
cp "$work"/packages/*.deb "$root/packages/"
inside() { env -i HOME=/root LANG=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive chroot "$root" "$@"; }

# Files that are no package manager's own records: neither those that it keeps, nor copies of /etc/group and its like from before
# a package we need added its user, nor what /run holds until the next start.
files() {
  find "$root" -xdev -path "$root/var/cache" -prune -o -path "$root/var/lib/apt" -prune -o -path "$root/var/lib/dpkg" -prune -o \
    -path "$root/var/log" -prune -o -path "$root/proc" -prune -o -path "$root/dev" -prune -o -path "$root/etc/ld.so.cache" -prune -o \
    -path "$root/run" -prune -o -path "$root/etc/*-" -prune -o \
    -print | sort
}
inside apt-get -qq update >"$work/log" 2>&1 || fail "the package lists cannot be read"
files >"$work/before"

inside sh -c 'apt-get -qq install -y --no-install-recommends /packages/*.deb' >"$work/log" 2>&1 ||
  fail "the packages do not install"
inside stepcast --version >"$work/log" 2>&1 || fail "stepcast does not start"
inside stepcast run /usr/share/stepcast/scenarios/gpt3-175b-a100-1024.json >"$work/log" 2>&1 || fail "stepcast does not run"
grep -q 'Step time' "$work/log" || fail "stepcast prints no report"
# The tour of README.md, line by line: what it shows as mistakes is answered with exit code 2, the rest with 0.
mkdir "$root/tour" "$root/tour/docs" "$root/tour/docs/images"
ln -s /usr/share/stepcast/scenarios "$root/tour/scenarios"
steps=0
while IFS=$'\t' read -r wanted command; do
  code=0
  inside sh -c "cd /tour && $command" >"$work/log" 2>&1 </dev/null || code=$?
  [ "$code" -eq "$wanted" ] || fail "exit code $code, not $wanted, of: $command"
  steps=$((steps + 1))
done < <(awk '/^## / { tour = $0 == "## Five minutes" } /^\*\*/ { wanted = /^\*\*Mistakes/ ? 2 : 0 }
  tour && /^    (\$ )?stepcast / { sub(/^    (\$ )?/, ""); print wanted + 0 "\t" $0 }' README.md)
[ "$steps" -ge 10 ] || fail "README.md has a tour of $steps commands alone"
rm -r "$root/tour"
echo "check-packages: the tour of README.md runs, $steps commands"
for file in man/man1/stepcast-run.1.gz bash-completion/completions/stepcast zsh/vendor-completions/_stepcast; do
  [ -e "$root/usr/share/$file" ] || fail "$file is missing"
done
if inside sh -c 'command -v stepcast-gui' >/dev/null; then
  # As a user of its own: settings are the user's, and stay.
  mkdir -m 700 "$root/user"
  inside env HOME=/user XDG_RUNTIME_DIR=/user QT_QPA_PLATFORM=offscreen stepcast-gui --scenario /usr/share/stepcast/scenarios/gpt3-175b-a100-1024.json \
    --screenshot /tmp/window.png >"$work/log" 2>&1 || fail "stepcast-gui does not run"
  [ -s "$root/tmp/window.png" ] || fail "stepcast-gui drew nothing"
  rm -r "$root/tmp/window.png" "$root/user"
fi

names=()
for package in "$work"/packages/*.deb; do names+=("$(dpkg-deb --field "$package" Package)"); done
inside apt-get -qq purge -y --autoremove "${names[@]}" >"$work/log" 2>&1 || fail "the packages cannot be removed"
files >"$work/after"
diff "$work/before" "$work/after" >"$work/log" || fail "removed packages left something behind:"
echo "check-packages: installed, ran and removed; nothing is left"
