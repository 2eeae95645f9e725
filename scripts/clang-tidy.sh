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
# What is compiled, several sources in one; not what other programs wrote.
if [ $# -gt 0 ]; then
  files=("$@")
else
  mapfile -t files < <(sed -n 's/^ *"file": "\(.*\)",\{0,1\}$/\1/p' "$folder/compile_commands.json" |
    grep -vE '\.pb\.cc$|_autogen/|cmake_pch' | sort -u)
fi
# Clang cannot read what GCC precompiled, and does not know GCC's parameters.
database=$(mktemp -d)
trap 'rm -rf "$database"' EXIT
sed -E 's/ --param=[^ ]*//g; s/ -Winvalid-pch//g; s/ -include [^ ]*cmake_pch\.hxx//g' "$folder/compile_commands.json" >"$database/compile_commands.json"
printf '%s\0' "${files[@]}" | xargs -0 -n 1 -P "$(nproc)" clang-tidy-14 --quiet -p "$database"
