#!/usr/bin/env bash
# Writes the golden reports anew from the binary of a build: tests/golden/update.sh [build folder]. Read the difference
# before it is committed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

stepcast=${1:-build/release}/bin/stepcast
mkdir -p tests/golden/reports
rm -f tests/golden/reports/*.txt tests/golden/reports/*.json
for scenario in scenarios/*.json; do
  case "$scenario" in */plan-*) continue ;; esac             # a question to the planner
  if grep -q '"variants"' "$scenario"; then continue; fi # a study
  name=$(basename "$scenario" .json)
  "$stepcast" run "$scenario" >"tests/golden/reports/$name.txt"
  "$stepcast" run "$scenario" --json >"tests/golden/reports/$name.json"
done
