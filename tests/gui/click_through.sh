#!/usr/bin/env bash
# Starts the real program on a virtual screen, works it with keyboard and mouse, and saves pictures of what it shows.
#   tests/gui/click_through.sh BIN_FOLDER OUT_FOLDER
# Fails when the program dies, a picture is nearly empty, or a step changes nothing. Exit code 77: a tool is missing.
set -euo pipefail
bin=${1:?folder of stepcast-gui}
out=${2:?folder for pictures}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source_root=$(cd "$here/../.." && pwd)

mkdir -p "$out"
screen=1480x920
# shellcheck source=tests/gui/virtual_screen.sh
source "$here/virtual_screen.sh"
start_gui --size 1480x920 "$source_root/scenarios/llama3-70b-h100-512.json"
xdotool windowmove "$window" 0 0
xdotool windowfocus "$window" || true
sleep 3

picture() {
  kill -0 "$gui" || { echo "click_through: the program died before $1" >&2; exit 1; }
  python3 "$here/framebuffer.py" "$work/Xvfb_screen0" "$out/$1.png"
}
keys() { xdotool key --clearmodifiers --delay 40 "$@"; sleep 1.5; }
say() { xdotool type --delay 15 "$1"; sleep 0.5; }
frame() { python3 "$here/framebuffer.py" "$work/Xvfb_screen0" "$@"; }
# The part of the window where charts are.
charts=700,230,770,640
# Waits until charts have that many pixels of a colour: WHAT COLOUR PIXELS SECONDS
drawn() {
  local count=0
  for _ in $(seq "$4"); do
    count=$(frame --count "$2" "$charts")
    if [ "$count" -ge "$3" ]; then return; fi
    sleep 1
  done
  picture "failed-$1"
  echo "click_through: $1: $count pixels of colour $2 after $4 s, $3 wanted: the chart is empty" >&2
  exit 1
}
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

# Colours of Okabe and Ito, as gui/view-models/palette.cpp has them.
blue=0072b2 orange=e69f00 purple=cc79a7

# A sweep over the number of servers: a curve, and again with a second parameter: a heatmap as well.
keys ctrl+shift+e
keys alt+r
drawn sweep $blue 300 60
picture 6-sweep

# A plan: which servers. The answers are points of a scatter; a drag keeps some of them.
keys ctrl+shift+p
picture 7-plan-asked
keys alt+p
drawn plan-rejected $purple 2000 120
drawn plan $blue 60 10
picture 7-plan
changed 7-plan-asked 7-plan
read -r left top right bottom <<<"$(frame --box $blue 740,300,390,260)"
xdotool mousemove $((left - 14)) $((top - 14)) mousedown 1
xdotool mousemove $(((left + right) / 2)) $(((top + bottom) / 2))
sleep 0.3
xdotool mousemove $(((left + right) / 2 + 6)) $((bottom + 14)) mouseup 1
sleep 1.5
picture 7-plan-filtered
changed 7-plan 7-plan-filtered

# A calibration: measurements of two clusters of hosts are loaded and fitted, then its residuals are looked at.
keys ctrl+shift+k
keys alt+l
say "\"$source_root/tests/data/probes/mpi-100mbit-2.json\" \"$source_root/tests/data/probes/mpi-100mbit-4.json\""
keys Return
# No window manager gives the focus back when a dialog closes.
xdotool windowfocus "$window"
keys Tab Tab ctrl+a
say "rental-epyc-7502p-128gb"
keys Tab ctrl+a
say "cluster.fabric.nics_per_node=1 cluster.fabric.nic_bandwidth_Gbps=0.1 cluster.fabric.network=ethernet_tcp"
keys Tab ctrl+a
say "lab"
picture 8-calibration-asked
keys alt+c
drawn calibration $blue 1000 120
picture 8-calibration
changed 8-calibration-asked 8-calibration
keys alt+r
drawn residuals $orange 60 20
picture 8-residuals
keys alt+o
picture 8-rests-on-it
changed 8-residuals 8-rests-on-it
kill -0 "$gui"
echo "click_through: $(find "$out" -name '*.png' | wc -l) pictures in $out"
