#!/usr/bin/env bash
# Includes go down the layers only, SimGrid stays inside sim/engine, only the worker includes sim/engine, and widgets
# include no library but what errors and JSON are made of.
source "$(dirname "${BASH_SOURCE[0]}")/files.sh"

# A layer may include itself and those before it. What calibration/ and planner/ share with report/ lies below both.
layers=(units fields hardware-catalog models sim report calibration planner sweeps checks explain cli gui)
mapfile -d '' files < <(tree_files '*.cpp' '*.hpp')

[ ${#files[@]} -gt 0 ] || exit 0
grep -HnE '^ *# *include +["<]' "${files[@]}" | awk -v order="${layers[*]}" '
  BEGIN {
    n = split(order, names, " ")
    for (i = 1; i <= n; ++i) rank[names[i]] = i
    rank["worker"] = rank["report"]
    peers["calibration planner"] = peers["planner calibration"] = 1   # neither knows the other
  }
  function fault(reason) { print file ":" line ": includes " target ": " reason; faults = 1 }
  {
    split($0, part, ":")
    file = part[1]; line = part[2]
    target = $0; sub(/^[^"<]*["<]/, "", target); sub(/[">].*$/, "", target)
    from = file; sub(/\/.*/, "", from)
    to = target; sub(/\/.*/, "", to)

    # The worker is a program above report, though its folder lies in sim.
    if (file ~ /^sim\/worker\//) from = "worker"

    if (from in rank && to in rank) {
      if (rank[to] > rank[from]) fault(from " is below " to)
      if ((from " " to) in peers) fault(from " and " to " do not know each other")
    }
    if (from in rank && to == "tests") fault("tests are above everything")

    engine = file ~ /^sim\/engine\//
    if (target ~ /^sim\/engine\// && !engine && file !~ /^sim\/worker\// && from != "tests")
      fault("only sim/worker and tests may; `stepcast` must not load SimGrid")
    if (target ~ /^sim\/worker\// && file !~ /^sim\/worker\// && from != "tests") fault("sim/worker is a program")
    if (target ~ /^(simgrid|xbt)\// && !engine && from != "tests") fault("SimGrid stays inside sim/engine")
    if (target ~ /^(CLI\/|CLI11)/ && from != "cli" && file !~ /^(sim\/worker|calibration\/fit)\// && from != "tests") fault("command lines are read in cli")
    if (file ~ /^gui\/(views|theme)\// && target ~ /^(hardware-catalog|models|sim|report|calibration|planner|sweeps|checks|explain)\//)
      fault("views know view-models; view-models know the libraries")
    if (target ~ /^Q[A-Z]|^Qt/ && from != "gui" && from != "tests") fault("Qt stays in gui")
    if (file ~ /^calibration\/probes\// && to in rank && target !~ /^calibration\/probes\//)
      fault("probes run on compute nodes and depend on nothing of ours")
    if (file !~ /^gui\// && file !~ /^tests\/gui\// && target ~ /^(QtCharts|QChart)/) fault("Qt Charts is GPLv3; it stays in gui")
    if (target ~ /^\.\.?\//) fault("includes are written from the root of the tree")
  }
  END { exit faults }'
