#pragma once

#include <string>
#include <string_view>

#include "calibration/validation/csv_table.hpp"
#include "calibration/validation/measured_run.hpp"

namespace stepcast {

/// Reads a row of MLPerf Training results: minutes to the quality target. The run is that of the benchmark's model on
/// the row's accelerators at its batch, read by the adapter of the tables that hold such models; its measured figure is
/// the minutes, and the steps to the target come from MLPerf's reference convergence points, evaluations from its
/// rules. Start-up, which the minutes hold, is not predicted. Benchmarks, accelerators and batches that have no
/// description are refused.
MeasuredRun mlperf_run(const CsvRow& row);

/// The catalogue's id of an accelerator as submissions word it ("NVIDIA A100-SXM4-80GB (400W)"); empty when none is
/// meant.
std::string mlperf_accelerator(std::string_view text);

}  // namespace stepcast
