#!/usr/bin/env bash
# Builds Stepcast where needed, then runs it: with the arguments given, or on a ready-made scenario.
#   scripts/run.sh                                   one training step of GPT-3 175B on 1,024 A100 GPUs
#   scripts/run.sh run my-scenario.json --json       anything `stepcast` understands; `scripts/run.sh --help` lists it
# Installs missing Debian packages first. Only the report goes to stdout.
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

"$top/scripts/install-deps.sh"
options=()
[ -f "$top/build/release/build.ninja" ] || options=(--with=STEPCAST_TESTS=OFF)
"$top/scripts/build.sh" release "${options[@]}" stepcast stepcast-worker

[ $# -gt 0 ] || set -- run "$top/scenarios/gpt3-175b-a100-1024.json"
exec "$top/build/release/bin/stepcast" "$@"
