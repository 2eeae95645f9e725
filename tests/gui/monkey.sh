#!/usr/bin/env bash
# Plays random input into the window for STEPCAST_MONKEY_SECONDS (default 60); before that for a quarter of a minute
# with variables that look for leaks.
#   tests/gui/monkey.sh GUI_TEST [VARIABLE=VALUE …]     the variables are set for the program alone
set -euo pipefail
program=${1:?program of the tests}
shift
seconds=${STEPCAST_MONKEY_SECONDS:-60}
play() { env "$@" "$program" --gtest_filter='*RandomInput*'; }

# No longer: gcc 12's LeakSanitizer moves its table of threads when a program starts its 512th, and reads it meanwhile.
if [ $# -gt 0 ]; then play STEPCAST_MONKEY_SECONDS=15 "$@"; fi
play "STEPCAST_MONKEY_SECONDS=$seconds"
