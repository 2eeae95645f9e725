#!/usr/bin/env bash
# Formats every source file of the tree, or the files given, with clang-format 14.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [ $# -gt 0 ]; then
  exec clang-format-14 -i "$@"
fi
git ls-files -z --cached --others --exclude-standard -- '*.cpp' '*.hpp' | xargs -0 -r clang-format-14 -i
