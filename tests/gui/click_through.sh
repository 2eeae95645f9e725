#!/usr/bin/env bash
# Starts the real program on a virtual screen, works it with keyboard and mouse, and saves pictures of what it shows.
#   tests/gui/click_through.sh BIN_FOLDER OUT_FOLDER
# Fails when the program dies, a picture is nearly empty, or a step changes nothing. Exit code 77: a tool is missing.
set -euo pipefail
bin=${1:?folder of stepcast-gui}
out=${2:?folder for pictures}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source_root=$(cd "$here/../.." && pwd)

for tool in Xvfb xdotool python3; do
  if ! command -v "$tool" >/dev/null; then
    echo "click_through: $tool is missing (scripts/install-deps.sh tests)" >&2
    exit 77
  fi
done

work=$(mktemp -d)
mkdir -p "$out"
export HOME=$work XDG_CONFIG_HOME=$work XDG_DATA_HOME=$work XDG_RUNTIME_DIR=$work
display=:$((90 + RANDOM % 400))
Xvfb "$display" -screen 0 1480x920x24 -fbdir "$work" >/dev/null 2>&1 &
server=$!
gui=
cleanup() {
  if [ -n "$gui" ]; then kill "$gui" 2>/dev/null || true; fi
  kill "$server" 2>/dev/null || true
  rm -rf "$work"
}
trap cleanup EXIT
export DISPLAY=$display QT_QPA_PLATFORM=xcb
for _ in $(seq 100); do
  if xdotool getdisplaygeometry >/dev/null 2>&1; then break; fi
  sleep 0.1
done

"$bin/stepcast-gui" --size 1480x920 "$source_root/scenarios/llama3-70b-h100-512.json" &
gui=$!
window=$(timeout 60 xdotool search --sync --onlyvisible --pid "$gui" --limit 1)
xdotool windowmove "$window" 0 0
xdotool windowfocus "$window" || true
sleep 3

picture() {
  kill -0 "$gui" || { echo "click_through: the program died before $1" >&2; exit 1; }
  python3 "$here/framebuffer.py" "$work/Xvfb_screen0" "$out/$1.png"
}
keys() { xdotool key --clearmodifiers --delay 40 "$@"; sleep 1.5; }
say() { xdotool type --delay 15 "$1"; sleep 0.5; }
changed() {
  if cmp -s "$out/$1.png" "$out/$2.png"; then
    echo "click_through: $2 looks like $1: nothing happened" >&2
    exit 1
  fi
}

picture 1-start
# Choosing a server: browse, search, take.
keys ctrl+f
say h200
picture 2-servers
changed 1-start 2-servers
keys Return Return
sleep 4
keys ctrl+1
picture 3-chosen
changed 1-start 3-chosen
# Compare it with what was there before.
keys ctrl+d
keys ctrl+z
sleep 3
keys ctrl+shift+m
picture 4-compare
# Through the tabs by keyboard.
for tab in 2 3 4 5 6 7 8; do
  keys "ctrl+$tab"
  sleep 2
  picture "5-tab-$tab"
done
changed 5-tab-2 5-tab-3
changed 5-tab-7 5-tab-8
kill -0 "$gui"
echo "click_through: $(find "$out" -name '*.png' | wc -l) pictures in $out"
