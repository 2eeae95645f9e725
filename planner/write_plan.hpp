#pragma once

#include <filesystem>

#include "planner/plan.hpp"

namespace stepcast {

/// Writes an answer into a folder, which is made if it is missing: plan.json and plan.txt, and for every candidate a
/// folder option-1, option-2 … with scenario.json, launch configuration and bill-of-materials.csv. All texts are made
/// before the first file is written. Throws InputError when the folder or a file cannot be written.
void write_plan(const PlanAnswer& answer, const Catalog& catalog, const std::filesystem::path& folder);

}  // namespace stepcast
