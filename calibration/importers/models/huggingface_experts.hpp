#pragma once

#include <string>
#include <vector>

#include "calibration/importers/models/config_reader.hpp"
#include "fields/json_text.hpp"

namespace stepcast {

/// Renames what types call otherwise than most and mean alike, whatever the type; a key whose usual name says another
/// thing stays.
void usual_experts(Json& config);

/// A file may keep the sizes of experts that its model does not have: `is_moe` false removes them.
void drop_unused_experts(Json& config);

/// One expert is an MLP: dense models of a family with experts say so.
bool has_experts(ConfigReader& reader);
/// Whether a file says that its model has no experts, so that their sizes in it say nothing.
bool states_no_experts(const Json& config);
/// Marks the sizes of experts as known.
void ignore_expert_sizes(ConfigReader& reader);

/// ERNIE's layers with experts go to the model's last; dense ones behind them are a fault.
void refuse_early_end(ConfigReader& reader, long layers, const std::string& pointer, Diagnostics& diagnostics);

/// A model whose experts are described in keys that nothing here reads would come out without them, many times too
/// small: each such key is a fault, but where its value says that there are none or its name that it changes no shape.
void refuse_unread_experts(const Json& config, const std::vector<std::string>& unread, const std::string& pointer,
                           Diagnostics& diagnostics);

}  // namespace stepcast
