#pragma once

#include <fstream>
#include <sstream>
#include <string>

#include "calibration/importers/nccl_topology.hpp"
#include "calibration/importers/node_entry.hpp"
#include "calibration/importers/nvidia_smi_topo.hpp"
#include "hardware-catalog/part_kinds.hpp"
#include "tests/shipped_catalog.hpp"

namespace stepcast::test {

/// A file of tests/data/imports.
inline std::string imported_file(const std::string& name) {
  std::ostringstream out;
  out << std::ifstream(std::string(STEPCAST_SOURCE_DIR) + "/tests/data/imports/" + name).rdbuf();
  return out.str();
}

/// The faults of an XML topology, one a line.
inline std::string faults_of(const std::string& xml) {
  Diagnostics diagnostics("t.xml");
  (void)read_nccl_topology(xml, diagnostics);
  std::string out;
  for (const Fault& fault : diagnostics.faults()) out += fault.text() + "\n";
  return out;
}

/// The entry, which must be one that a catalogue takes.
inline Json entry(Wiring wiring, const NodeHints& hints = {"n", "", "", {}}) {
  wiring.source = "test";
  Json out = node_entry(wiring, hints, "t", catalog()).document;
  Diagnostics diagnostics("n.json");
  (void)read_part<Node>(out, hints.id, diagnostics);
  diagnostics.throw_if_faulty();
  return out;
}

/// The entry of an XML topology, and of a matrix.
inline Json of_xml(const std::string& xml, const NodeHints& hints = {"n", "", "", {}}) {
  Diagnostics diagnostics("t.xml");
  const Wiring wiring = read_nccl_topology(xml, diagnostics);
  diagnostics.throw_if_faulty();
  return entry(wiring, hints);
}

inline Json of_matrix(const std::string& text, const NodeHints& hints = {"n", "", "", {}}) {
  Diagnostics diagnostics("t.txt");
  const Wiring wiring = read_smi_topo(text, diagnostics);
  diagnostics.throw_if_faulty();
  return entry(wiring, hints);
}

}  // namespace stepcast::test
