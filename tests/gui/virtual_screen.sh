# shellcheck shell=bash
# Sourced: a virtual screen, and the real program on it. Exit code 77: a tool is missing.
#   bin     folder of stepcast-gui
#   screen  its size, as 1480x920
: "${bin:?folder of stepcast-gui}" "${screen:?size of the screen}"
for tool in Xvfb xdotool python3; do
  if ! command -v "$tool" >/dev/null; then
    echo "${0##*/}: $tool is missing (scripts/install-deps.sh tests)" >&2
    exit 77
  fi
done

work=$(mktemp -d)
export HOME=$work XDG_CONFIG_HOME=$work XDG_DATA_HOME=$work XDG_RUNTIME_DIR=$work
display=:$((90 + RANDOM % 400))
# Without -noreset it starts over, and refuses connections meanwhile, when its last client leaves.
Xvfb "$display" -noreset -screen 0 "${screen}x24" -fbdir "$work" >/dev/null 2>&1 &
server=$!
gui=
clean_up() {
  if [ -n "$gui" ]; then kill "$gui" 2>/dev/null || true; fi
  kill "$server" 2>/dev/null || true
  rm -rf "$work"
}
trap clean_up EXIT
export DISPLAY=$display QT_QPA_PLATFORM=xcb
for _ in $(seq 100); do
  if xdotool getdisplaygeometry >/dev/null 2>&1; then break; fi
  sleep 0.1
done

# Starts the program with these arguments; `window` is its first one, seen `started_ms` after the start.
start_gui() {
  local begin
  begin=$(date +%s%N)
  "$bin/stepcast-gui" "$@" &
  gui=$!
  window=
  for _ in $(seq 1200); do
    window=$(xdotool search --onlyvisible --pid "$gui" 2>/dev/null | head -n 1) && [ -n "$window" ] && break
    kill -0 "$gui" 2>/dev/null || break
    sleep 0.02
  done
  # shellcheck disable=SC2034  # for those that source this
  started_ms=$((($(date +%s%N) - begin) / 1000000))
  if [ -z "$window" ]; then
    echo "${0##*/}: no window of stepcast-gui $*" >&2
    exit 1
  fi
}
