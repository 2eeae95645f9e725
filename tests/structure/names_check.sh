#!/usr/bin/env bash
# No type of one name is defined twice in a namespace: the linker keeps one of the functions that both have, and the other
# type's objects are destroyed by it. What a file keeps to itself is in an unnamed namespace.
source "$(dirname "${BASH_SOURCE[0]}")/files.sh"

mapfile -d '' -t sources < <(tree_files '*.cpp' '*.hpp')
twice=$(awk '
  FNR == 1 { depth = 0; unnamed = 0 }
  /^namespace[ a-z_:]*\{/ { space[++depth] = $2 == "{" ? "" : $2; if ($2 == "{") unnamed++; next }
  /^}  \/\/ namespace/ { if (depth > 0 && space[depth] == "") unnamed--; if (depth > 0) depth--; next }
  /^(struct|class|enum class|enum) [A-Za-z_]+( final)?( : [^{]*)? \{/ && depth > 0 && unnamed == 0 {
    name = $1 == "enum" && $2 == "class" ? $3 : $2
    if (name ~ /[<:]/) next
    place = FILENAME ":" FNR
    key = space[depth] "::" name
    if (key in first) print place ": " key " is defined in " first[key] ", too"; else first[key] = place
  }' "${sources[@]}")
if [ -n "$twice" ]; then
  printf '%s\n' "$twice"
  exit 1
fi
