#!/usr/bin/env bash
# Starts the real program as a desktop does, with a file; kills it while work is unsaved, and looks whether the next start
# offers the work again, for the file that it was of; looks whether the window is as it was left.
#   tests/gui/life.sh BIN_FOLDER
# Prints how long the window took to be seen. Exit code 77: a tool is missing.
set -euo pipefail
bin=${1:?folder of stepcast-gui}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
screen=1600x1000
# shellcheck source=tests/gui/virtual_screen.sh
source "$here/virtual_screen.sh"

fail() {
  echo "life: $1" >&2
  exit 1
}
# Waits until a command succeeds: WHAT SECONDS COMMAND…
await() {
  local what=$1 seconds=$2
  shift 2
  for _ in $(seq $((seconds * 5))); do
    if "$@"; then return; fi
    sleep 0.2
  done
  fail "$what: not within $seconds s"
}
keys() { xdotool windowfocus "$window" || true; xdotool key --clearmodifiers --delay 40 "$@"; }
title() { xdotool getwindowname "$window"; }
copies() { find "$work/stepcast/stepcast/autosave" -name '*.json' 2>/dev/null; }
has_copy() { [ -n "$(copies)" ]; }
has_no_copy() { ! has_copy; }
ended() { ! kill -0 "$gui" 2>/dev/null; }
scenario_of() { python3 -c 'import json, sys; print(json.dumps(json.load(open(sys.argv[1]))["scenario"], sort_keys=True))' "$1"; }
same_json() { python3 -c 'import json, sys; sys.exit(json.load(open(sys.argv[1])) != json.loads(sys.argv[2]))' "$1" "$2"; }

# As a desktop opens a file: as the only argument. Five times, for the time it takes. Ended as the end of a session does:
# nothing is left behind.
export TMPDIR=$work/temporary
mkdir "$TMPDIR"
file=$work/mine.stepcast.json
# Without its comments, for what reads JSON here.
sed 's|//  *.*||' "$here/../../scenarios/llama3-70b-h100-512.json" >"$file"
python3 -m json.tool "$file" >/dev/null
times=()
for _ in 1 2 3 4 5; do
  start_gui "$file"
  times+=("$started_ms")
  kill "$gui"
  code=0
  wait "$gui" 2>/dev/null || code=$?
  [ "$code" = 143 ] || fail "exit code $code after SIGTERM"
done
[ -z "$(ls "$TMPDIR")" ] || fail "temporary folders are left: $(ls "$TMPDIR")"
mapfile -t times < <(printf '%s\n' "${times[@]}" | sort -n)
echo "life: window seen ${times[2]} ms after the start (median of ${times[*]}; at most 1000 on an idle machine)"
[ "${times[2]}" -lt 20000 ] || fail "the window does not come"

# Work that nobody saved, and the end of a session: it is kept at once.
start_gui "$file"
sleep 1
keys ctrl+g
sleep 0.5
kill "$gui"
wait "$gui" 2>/dev/null || true
has_copy || fail "SIGTERM lost the work"
find "$work/stepcast/stepcast/autosave" -name '*.json' -delete

# Work that nobody saved, and a crash.
start_gui "$file"
title | grep -q mine.stepcast.json || fail "the title is \"$(title)\""
sleep 1
keys ctrl+g
await "a copy of unsaved work" 60 has_copy
wanted=$(scenario_of "$(copies)")
same_json "$file" "$wanted" && fail "nothing was changed"
kill -9 "$gui"
wait "$gui" 2>/dev/null || true
has_copy || fail "the copy is gone with the program"

# The next start offers it, without having been told of the file.
start_gui
offered() { window=$(xdotool search --onlyvisible --name "Unsaved work" | head -n 1) && [ -n "$window" ]; }
await "the question about unsaved work" 60 offered 2>/dev/null
keys Return
restored() { window=$(xdotool search --onlyvisible --name "mine.stepcast.json" | head -n 1) && [ -n "$window" ]; }
await "the file's name in the title" 60 restored 2>/dev/null
keys ctrl+s
saved() { same_json "$file" "$wanted"; }
await "the restored work in its file" 60 saved
await "no copy once it is saved" 60 has_no_copy

# As it was left.
xdotool windowsize "$window" 1310 790
xdotool windowmove "$window" 40 30
sleep 1
keys ctrl+3
sleep 2
keys ctrl+q
await "the end" 60 ended
start_gui "$file"
sleep 1
geometry=$(xdotool getwindowgeometry --shell "$window" | tr '\n' ' ')
grep -q 'WIDTH=1310 HEIGHT=790' <<<"$geometry" || fail "the window was 1310x790, now: $geometry"
grep -q '^tab=scaling$' "$work/stepcast/stepcast.conf" || fail "the open tab was not kept"
echo "life: opened by argument, restored after kill -9 into its file, and arranged as it was left"
