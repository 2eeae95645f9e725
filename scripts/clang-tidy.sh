#!/usr/bin/env bash
# Runs clang-tidy over every source file of a configured build (build/release by default), or over the files given.
#   scripts/clang-tidy.sh [BUILD_FOLDER] [FILE…]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

folder=${1:-build/release}
[ $# -eq 0 ] || shift
if [ ! -f "$folder/compile_commands.json" ]; then
  echo "clang-tidy.sh: $folder is not configured; scripts/build.sh release does that" >&2
  exit 3
fi
if [ $# -gt 0 ]; then files=("$@"); else mapfile -t files < <(git ls-files '*.cpp'); fi
printf '%s\0' "${files[@]}" | xargs -0 -n 1 -P "$(nproc)" clang-tidy-14 --quiet -p "$folder"
