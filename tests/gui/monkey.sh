#!/usr/bin/env bash
# Plays random input into the window for STEPCAST_MONKEY_SECONDS (default 60), and looks for leaks when it ends.
#   tests/gui/monkey.sh GUI_TEST [VARIABLE=VALUE …]     the variables are set for the program alone
set -euo pipefail
program=${1:?program of the tests}
shift
export STEPCAST_MONKEY_SECONDS=${STEPCAST_MONKEY_SECONDS:-60}
exec env "$@" "$program" --gtest_filter='*RandomInput*'
