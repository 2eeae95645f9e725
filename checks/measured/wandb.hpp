#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "checks/measured/measured_results.hpp"

namespace stepcast {

/// Columns of a chart that Weights & Biases exports as CSV: `RUN - METRIC`, with the same and `__MIN` and `__MAX`
/// behind it where points were averaged. Adds each metric by its own name, with a part for each run, and takes the
/// bounds away; other tables stay as they are. Notes which runs count together.
void join_wandb_runs(NamedSeries& series, std::vector<std::string>& notes);

/// The figures in the folder of a run that Weights & Biases keeps: its history, else its summary; empty where the
/// folder is none.
std::filesystem::path wandb_file(const std::filesystem::path& folder);

/// A series' name without the group of charts, or the object of a JSON document, that it is in, and without the word
/// for the last or mean of its samples in a summary: `train/tokens_per_sec.mean` → `tokens_per_sec`. Groups of
/// evaluation are part of the name.
std::string_view without_group(std::string_view name);

}  // namespace stepcast
