#pragma once

#include "calibration/validation/csv_table.hpp"

namespace stepcast {

/// A table of runs with its names spelled as the shipped tables spell them: accelerators by their ids, models by
/// the names of presets and the table of models, formats of numbers and benchmarks in small letters. What reads and
/// compares rows need not know other spellings then.
CsvTable in_shipped_spelling(CsvTable table);

}  // namespace stepcast
