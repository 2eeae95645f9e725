#!/usr/bin/env bash
# Takes the picture of docs/guide/html-report.md with headless Chromium.
#   scripts/report-picture.sh
# STEPCAST=PATH/stepcast takes that program instead of the release build. Exit code 3 where there is no Chromium.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if ! command -v chromium >/dev/null; then
  echo "report-picture: chromium is not installed" >&2
  exit 3
fi
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
"${STEPCAST:-build/release/bin/stepcast}" run scenarios/llama3-70b-h100-512.json --html "$stage/report.html" >/dev/null
chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1200,1180 \
  --screenshot="$PWD/docs/images/report-llama3-70b.png" "file://$stage/report.html" 2>/dev/null
