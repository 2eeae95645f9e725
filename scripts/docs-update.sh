#!/usr/bin/env bash
# Runs the commands that README.md, CONTRIBUTING.md and docs/ show, and puts what they print, and the pictures that they draw, in their place.
#   scripts/docs-update.sh            rewrite what has changed
#   scripts/docs-update.sh --check    change nothing; a diff and exit code 1 if a page or picture is not what the program makes
# Exit code 1, too, if a command fails, or a link or path leads nowhere.
# STEPCAST=PATH/stepcast takes that program; without it the release build is brought up to date and taken.
#
# A command that cannot run here leaves its page as it is, with exit code 1.
#
# An indented block whose first line is "    // PATH" is that file of a copy of the tree's data, which the commands below it
# find. In an indented block, "    $ command" is run and the indented lines below it are its output; "    …" as the last of them
# leaves the rest out. "    stepcast …" without the dollar sign is run too, and must succeed.
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$top"

check=no
case "${1:-}" in
  "") ;;
  --check) check=yes ;;
  *)
    sed -n '2,6s/^# //p' "$0" >&2
    exit 2
    ;;
esac

if [ -z "${STEPCAST:-}" ]; then
  scripts/install-deps.sh
  scripts/build.sh release stepcast stepcast-worker
  STEPCAST=$top/build/release/bin/stepcast
fi
programs=$(cd "$(dirname "$STEPCAST")" && pwd)

# Commands run in a folder of their own, which looks like the tree to them; what they write stays there.
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
mkdir -p "$stage/docs/images" "$stage/scripts"
ln -s "$top/calibration" "$top/tests" "$stage/"
cp -r scenarios hardware-catalog "$stage/"
find models -name '*.json' -exec cp --parents {} "$stage/" \;
export STEPCAST_SHARE=$stage
cat >"$stage/scripts/run.sh" <<'RUN'
#!/usr/bin/env bash
[ $# -gt 0 ] || set -- run scenarios/gpt3-175b-a100-1024.json
exec stepcast "$@"
RUN
# A page may change the table of algorithms: that file is compiled anew, and programs are linked with the rest of the build.
{
  printf '#!/usr/bin/env bash\nset -euo pipefail\nstage=%q build=%q\n' "$stage" "$(dirname "$programs")"
  cat <<'BUILD'
object=models/CMakeFiles/stepcast_models.dir/collectives/algorithm_table.cpp.o
shift
mkdir -p "$stage/bin"
cd "$build"
compiled=$(ninja -t commands "$object" | grep -F " -o $object " |
  sed -E "s| -MD -MT [^ ]+ -MF [^ ]+ -o [^ ]+ -c [^ ]+| -o $stage/bin/table.o -c $stage/models/collectives/algorithm_table.cpp|")
bash -c "$compiled"
for program in "$@"; do
  bash -c "$(ninja -t commands "bin/$program" | tail -n 1 | sed "s| -o bin/$program | $stage/bin/table.o&|; s| -o bin/| -o $stage/bin/|")"
done
BUILD
} >"$stage/scripts/build.sh"
chmod +x "$stage/scripts/"*.sh
export PATH=$stage/bin:$programs:$PATH

# Files of other programs that pages name as a user's own. Each page starts with them as they are.
samples=$(mktemp -d)
trap 'rm -rf "$stage" "$samples"' EXIT
mkdir -p "$samples/out" "$samples/mine/nodes"
cp docs/examples/files/* tests/fuzz/corpus/nccl-tests/all_reduce.txt tests/fuzz/corpus/nccl-tests/all_reduce.json "$samples/"
cp tests/data/imports/p4d-24xl-topo.xml "$samples/topo.xml"
cp tests/fuzz/corpus/slurm-topology/two-leaves.conf "$samples/topology.conf"
cp tests/fuzz/corpus/astra-network/two-tiers.yml "$samples/network.yml"
cp tests/fuzz/corpus/huggingface/moe.json "$samples/config.json"
cp tests/fuzz/corpus/megatron/gpt.txt "$samples/train.sh"
cp tests/fuzz/corpus/deepspeed/zero.json "$samples/ds_config.json"
cp tests/fuzz/corpus/accelerate/fsdp.yaml "$samples/default_config.yaml"
cp tests/fuzz/corpus/torchtitan/llama3.toml "$samples/llama3_70b.toml"
cp tests/data/kineto/two-a100-ddp-rank0.json.gz "$samples/rank0.json.gz"
cp tests/fuzz/corpus/osu/allgather.txt "$samples/"
cp tests/fuzz/corpus/imb/mpi1.txt "$samples/imb.txt"
cp scenarios/bert-large-16nodes.json "$samples/my-cluster.json"
protoc --encode=onnx.ModelProto -I /usr/include/onnx /usr/include/onnx/onnx.proto <tests/data/onnx/residual.txtpb >"$samples/network.onnx"
"$STEPCAST" run scenarios/bert-large-16nodes.json --export-graph "$samples/step.json" >"$samples/log"

failed=0
lines=()
at=0

# Runs a command into $stage/output. Fails, and says why, where that is nothing to show: the machine's fault, not the page's.
output_of() {
  local command=$1 keep=$2 code=0
  (cd "$stage" && bash -c "$command" >"$stage/output" 2>&1 </dev/null) || code=$?
  if [ $code -gt 2 ]; then
    echo "docs-update: exit code $code of: $command" >&2
  elif grep -qF "$top/" "$stage/output"; then
    echo "docs-update: a path of this machine in the output of: $command" >&2
  elif [ "$keep" -ge "$(wc -l <"$stage/output")" ]; then
    echo "docs-update: fewer than the $keep lines and more that the page shows: $command" >&2
  else
    return 0
  fi
  head -n 5 "$stage/output" >&2
  return 1
}

# Reads the old output from lines[at] on, prints what stands in its place now.
replace_output() {
  local command=$1 keep=-1 blanks=0 start=$at line
  while [ "$at" -lt ${#lines[@]} ]; do
    line=${lines[$at]}
    [[ -z "$line" || ("$line" == "    "* && "$line" != '    $ '*) ]] || break
    if [ "$line" = "    …" ]; then keep=$((at - start)); fi
    if [ -z "$line" ]; then blanks=$((blanks + 1)); else blanks=0; fi
    at=$((at + 1))
  done
  if ! output_of "$command" "$keep"; then
    touch "$stage/failed"
    printf '%s\n' "${lines[@]:start:at-start}"
    return
  fi
  if [ "$keep" -ge 0 ]; then head -n "$keep" "$stage/output"; else cat "$stage/output"; fi | sed 's/^\(.\)/    \1/'
  if [ "$keep" -ge 0 ]; then echo "    …"; fi
  while [ "$blanks" -gt 0 ]; do
    echo
    blanks=$((blanks - 1))
  done
}

page_now() {
  mapfile -t lines <"$1"
  at=0
  while [ "$at" -lt ${#lines[@]} ]; do
    local line=${lines[$at]}
    at=$((at + 1))
    printf '%s\n' "$line"
    if [[ "$line" == '    $ '* ]]; then replace_output "${line#'    $ '}"; fi
  done
}

# Blocks that are files: "    // PATH" and the indented lines below it. Printed names are theirs.
write_files() {
  awk -v stage="$stage" '
    /^    \/\/ [A-Za-z0-9._\/-]+$/ && !inside { file = stage "/" $2; inside = 1; print $2; next }
    inside && /^    / { print substr($0, 5) > file; next }
    inside && /^$/ { close(file); inside = 0 }' "$1"
}

# Commands shown without their output: they have to work.
try_commands() {
  local command
  while IFS= read -r command; do
    (cd "$stage" && bash -c "$command" >"$stage/log" 2>&1 </dev/null) && continue
    echo "$1: fails: $command" >&2
    cat "$stage/log" >&2
    failed=1
  done < <(sed -e ':joined' -e '/\\$/{N;s/ *\\\n */ /;bjoined' -e '}' "$1" |
    # What follows three spaces says what a command is for.
    sed -n 's/^    \(stepcast [^…·]*\)$/\1/p' | sed 's/   .*//')
}

folders='units|fields|hardware-catalog|models|sim|report|calibration|planner|sweeps|checks|explain|cli|gui|clients|packaging|scenarios|tests|scripts|docs|cmake'
# Relative links, and paths of the tree in back quotes.
try_links() {
  local folder target
  folder=$(dirname "$1")
  while IFS= read -r target; do
    [ -e "$folder/$target" ] && continue
    echo "$1: leads nowhere: $target" >&2
    failed=1
  done < <(grep -v '^    ' "$1" | grep -oE '\]\([^)#]+' | cut -c3- | grep -v '://')
  while IFS= read -r target; do
    [ -e "$target" ] && continue
    echo "$1: no such path: $target" >&2
    failed=1
  done < <(grep -v '^    ' "$1" | grep -oE "\`($folders)/[A-Za-z0-9_./-]*\`" | tr -d '\`')
}

# Pages that a command prints whole.
whole_page() {
  output_of "$1" -1 || touch "$stage/failed"
  cat "$stage/output"
}

# shellcheck source=tests/structure/files.sh
source tests/structure/files.sh
mapfile -d '' -t pages < <(tree_files '*.md' | grep -zE '^(README|CONTRIBUTING|docs/.*)\.md$' | sort -z)
for page in "${pages[@]}"; do
  cp -r "$samples/." "$stage/"
  cp --parents models/collectives/algorithm_table.cpp "$stage"
  mapfile -t written < <(write_files "$page")
  case "$page" in
    docs/accuracy.md) whole_page 'stepcast validate --markdown' ;;
    docs/systems.md) whole_page 'stepcast systems --markdown' ;;
    *) page_now "$page" ;;
  esac >"$stage/page"
  if ! cmp -s "$page" "$stage/page"; then
    if [ $check = yes ]; then
      diff -u --label "$page" --label "$page as the program prints it" "$page" "$stage/page" || failed=1
    else
      cp "$stage/page" "$page"
      echo "docs-update: $page" >&2
    fi
  fi
  try_commands "$page"
  try_links "$page"
  for file in "${written[@]}"; do rm -f "$stage/$file"; done
  rm -rf "${stage:?}/bin"
done

if [ -e "$stage/failed" ]; then exit 1; fi
for picture in "$stage"/docs/images/*; do
  [ -f "$picture" ] || continue
  target=docs/images/$(basename "$picture")
  cmp -s "$picture" "$target" && continue
  if [ $check = yes ]; then
    echo "$target: the program draws it otherwise now" >&2
    failed=1
  else
    mkdir -p docs/images
    cp "$picture" "$target"
    echo "docs-update: $target" >&2
  fi
done
exit $failed
