# shellcheck shell=bash
# Sourced by the checks: the files of the tree as git sees them (new ones included, ignored ones not), or as they lie in an
# unpacked archive.
set -euo pipefail
export LC_ALL=C.UTF-8

# tree_files PATTERN…: e.g. tree_files '*.cpp' '*.hpp'. NUL-separated.
tree_files() {
  if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    git ls-files -z --cached --others --exclude-standard -- "$@" | while IFS= read -r -d '' file; do
      if [ -f "$file" ]; then printf '%s\0' "$file"; fi
    done
  else
    local pattern names=()
    for pattern in "$@"; do names+=(-o -name "$pattern"); done
    find . \( -path ./build -o -path ./.git \) -prune -o -type f \( -false "${names[@]}" \) -printf '%P\0'
  fi
}
