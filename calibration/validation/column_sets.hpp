#pragma once

#include "calibration/validation/known_tables.hpp"
#include "calibration/validation/measured_run.hpp"

namespace stepcast {

/// Kinds of tables of training runs.
std::vector<KnownTable> run_tables();

/// Reads the runs of a table. Its header says which of the known column sets it is: one adapter each turns a row into
/// a scenario. Throws InputError with every fault of the file; a row that is sound but that no scenario can say keeps
/// its place, with the reason.
RunSet read_runs(const CsvTable& table, std::string name);

}  // namespace stepcast
