#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fields/json_text.hpp"

namespace stepcast {

/// A network that rows of deep-learning runs name: the preset that says it, and what the row counts.
struct NamedNetwork {
  Json model;                   ///< a preset's id, or the preset with its totals scaled to the data set's images
  int seq_len = 0;              ///< of a transformer; 0: none
  double units_per_sample = 1;  ///< tokens, frames … of a preset's sample, where the row counts those
  bool unit_known = true;       ///< whether the row counts something that a sample is or has
  double decode_ms = 0;         ///< of a core, for a sample, where processors augment images; 0: it does not limit
  std::string refusal;          ///< why no preset can say it; empty if one does
};

/// What decides a row's network: its model, data set and unit ("bert-large", "wiki+books seq128", "sequences/s"), and
/// whose program it is.
struct StatedTask {
  std::string_view model, dataset, unit, notes, source, framework;
};

NamedNetwork named_network(const StatedTask& stated);

/// What decides the framework profile of a row.
struct StatedFramework {
  std::string_view framework, source, notes, mode = {};
};

/// Profile of a row's framework and release; empty when none stands for it.
std::string_view framework_of(const StatedFramework& stated);

/// What decides the order of the images' elements of a row whose network reads some.
struct StatedOrder {
  std::string_view source, notes;
  std::string_view format;   ///< of numbers, as `workload.precision` has it
  std::string_view profile;  ///< of its framework
};

/// As `strategy.memory_format` has it; empty: what is usual in the format. PyTorch 1.x and PaddlePaddle have channels
/// first unless a program changes them.
std::string_view memory_format_of(const StatedOrder& stated);

/// Frameworks that rows name.
std::vector<std::string> framework_choices();

/// What a published recipe sets beyond what its rows print.
struct Recipe {
  long batch = 0;  ///< of a device; 0: as the row says, or as benchmarks usually have it
  bool sync_batch_norm = false;
};

/// Of a row's source, model, accelerator and precision.
Recipe recipe_of(std::string_view source, std::string_view model, std::string_view accelerator, bool wide);

/// A cluster of `gpus`, at most `gpus_per_node` of them in a server, with the network that the row's words state; null
/// when no server of the catalogue has these GPUs.
Json dl_cluster(std::string_view accelerator, long gpus, long gpus_per_node, std::string_view network);

}  // namespace stepcast
