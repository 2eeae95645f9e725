#pragma once

#include "calibration/validation/csv_table.hpp"
#include "calibration/validation/measured_run.hpp"

namespace stepcast {

/// One adapter for each set of columns; calibration/data/README.md says where the sets come from. What a row leaves out
/// comes from unstated.hpp. Faults of a row go to the row.
MeasuredRun megatron_a100_run(const CsvRow& row);
MeasuredRun published_megatron_run(const CsvRow& row);
MeasuredRun fsdp_run(const CsvRow& row);
MeasuredRun cut_model_run(const CsvRow& row);
MeasuredRun published_run(const CsvRow& row);
MeasuredRun deep_learning_run(const CsvRow& row);

}  // namespace stepcast
