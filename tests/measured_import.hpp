#pragma once

#include <string>

#include "calibration/importers/measured/results_builder.hpp"
#include "calibration/results/probe_results.hpp"

namespace stepcast::test {

/// What an importer of measured results made of a text.
struct MeasuredImport {
  Json rows, warnings;
  std::string date;
  std::string faults;  ///< one a line; empty when the text was taken
};

inline MeasuredImport import_measured(MeasuredReader read, const std::string& text, const MeasuredHints& hints = {},
                                      const std::string& file = "measured.txt") {
  ResultsBuilder results("test");
  Diagnostics diagnostics(file);
  read(text, file, hints, results, diagnostics);
  MeasuredImport out;
  for (const Fault& fault : diagnostics.faults()) out.faults += fault.text() + "\n";
  const Json document = results.document({file});
  if (out.faults.empty() && !results.empty()) check_probe_results(document);
  out.rows = document["results"];
  out.warnings = document["warnings"];
  out.date = document["date"];
  return out;
}

}  // namespace stepcast::test
