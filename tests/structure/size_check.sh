#!/usr/bin/env bash
# No source file over 600 lines, no file over 1 MB but tables of measurements.
source "$(dirname "${BASH_SOURCE[0]}")/files.sh"

long=$(tree_files '*.cpp' '*.hpp' | xargs -0 -r awk '
  FNR == 601 { print FILENAME ": over 600 lines; one subject a file" }')
large=$(tree_files '*' ':!calibration/data/*.csv' | xargs -0 -r stat -c '%s %n' | awk '
  $1 > 1000000 { sub(/^[0-9]+ /, ""); print $0 ": over 1 MB" }')
if [ -n "$long$large" ]; then
  printf '%s\n' "$long" "$large" | grep .
  exit 1
fi
