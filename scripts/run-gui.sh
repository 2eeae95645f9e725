#!/usr/bin/env bash
# Builds the desktop program and starts it.
#   scripts/run-gui.sh [SCENARIO] [OPTION]…      options as of stepcast-gui --help
# Exit codes: those of stepcast-gui; 3 when a package or a display is missing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/install-deps.sh gui
scripts/build.sh release --with=STEPCAST_GUI=ON stepcast-gui stepcast-worker
case " $* ${QT_QPA_PLATFORM:-} " in
  *" --screenshot "* | *offscreen*) ;;
  *)
    if [ -z "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ]; then
      echo "run-gui: no display; set DISPLAY, or try: xvfb-run scripts/run-gui.sh, or --screenshot FILE.png" >&2
      exit 3
    fi
    ;;
esac
if [ -z "${DISPLAY:-}${WAYLAND_DISPLAY:-}${QT_QPA_PLATFORM:-}" ]; then export QT_QPA_PLATFORM=offscreen; fi
exec build/release/bin/stepcast-gui "$@"
