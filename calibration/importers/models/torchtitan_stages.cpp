#include "calibration/importers/models/torchtitan_stages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "fields/plain_text.hpp"

namespace stepcast {

namespace {

/// A schedule of torch.distributed.pipelining, in small letters, and the nearest of ours.
struct TorchSchedule {
  std::string_view name, ours;
  bool several_parts = false;  ///< of a rank
  bool folded = false;         ///< a rank's second part lies opposite its first, as in a V
  std::string_view differs = {};
};
constexpr std::string_view kBubbleOfOnePart = "its bubble is that of one part a rank";
constexpr std::array kTorchSchedules{
    TorchSchedule{"1f1b", "1f1b"},
    TorchSchedule{"gpipe", "gpipe"},
    TorchSchedule{"interleaved1f1b", "interleaved-1f1b", true},
    TorchSchedule{"loopedbfs", "interleaved-1f1b", true, false, "it keeps the activations of all micro-batches"},
    TorchSchedule{"interleavedzerobubble", "zero-bubble", true, false, kBubbleOfOnePart},
    TorchSchedule{"zbvzerobubble", "zero-bubble", true, true, kBubbleOfOnePart},
    TorchSchedule{"dualpipev", "zero-bubble", true, true, kBubbleOfOnePart},
};

const TorchSchedule* torch_schedule(const std::string& name) {
  const std::string low = name.empty() ? "1f1b" : lower_case(name);
  const auto found = std::find_if(kTorchSchedules.begin(), kTorchSchedules.end(),
                                  [&](const TorchSchedule& one) { return one.name == low; });
  return found == kTorchSchedules.end() ? nullptr : &*found;
}

/// Parts of a rank; 0 with a fault where torchtitan refuses, too. Until the middle of 2025 layers_per_stage counted
/// the layers alone.
int parts_of_a_rank(const TorchtitanPipeline& how, const TorchSchedule& schedule, Diagnostics& diagnostics) {
  if (!schedule.several_parts) return 1;
  if (!how.layers_per_stage || how.layers == 0) return 2;
  for (const int counted : {how.layers + how.first_less + how.last_less, how.layers}) {
    const int parts = (counted + *how.layers_per_stage - 1) / *how.layers_per_stage;
    if (parts % how.ranks == 0 && parts / how.ranks > 1) return parts / how.ranks;
  }
  diagnostics.error("/parallelism/pipeline_parallel_layers_per_stage",
                    fmt::format("{} layers in parts of {} are no two or more for each of {} ranks", how.layers,
                                *how.layers_per_stage, how.ranks),
                    "as many layers a part as make a multiple of pipeline_parallel_degree");
  return 0;
}

std::vector<int> layers_of_parts(const TorchtitanPipeline& how, int parts, Diagnostics& diagnostics) {
  const int counted = how.layers + how.first_less + how.last_less;
  const int each = counted / parts, more = counted % parts;
  if (each == 0 || how.first_less > each || how.last_less > each) {
    diagnostics.error("/parallelism/pipeline_parallel_degree",
                      fmt::format("{} layers, {} for the embedding and {} for the output do not fill {} parts of a "
                                  "pipeline",
                                  how.layers, how.first_less, how.last_less, parts),
                      "a smaller pipeline_parallel_degree");
    return {};
  }
  std::vector<int> out(static_cast<std::size_t>(parts), each);
  for (int i = 0; i < more; ++i) ++out[static_cast<std::size_t>(i)];
  out.front() -= how.first_less;
  out.back() -= how.last_less;
  return out;
}

/// The layers of a rank's parts together.
std::vector<int> layers_of_ranks(const std::vector<int>& of_parts, int ranks, bool folded) {
  if (of_parts.empty()) return {};
  std::vector<int> out(static_cast<std::size_t>(ranks), 0);
  for (std::size_t part = 0; part < of_parts.size(); ++part) {
    const std::size_t round = part / out.size(), place = part % out.size();
    out[folded && round % 2 == 1 ? out.size() - 1 - place : place] += of_parts[part];
  }
  return out;
}

}  // namespace

TorchtitanStages torchtitan_stages(const TorchtitanPipeline& how, long micro_batches, Diagnostics& diagnostics) {
  TorchtitanStages out;
  const TorchSchedule* found = torch_schedule(how.schedule);
  if (found == nullptr)
    out.notes.push_back(fmt::format("pipeline_parallel_schedule {}: not known, 1f1b is forecast (strategy.schedule)",
                                    shown(how.schedule)));
  const TorchSchedule& schedule = found == nullptr ? kTorchSchedules.front() : *found;
  const int parts = parts_of_a_rank(how, schedule, diagnostics);
  if (parts == 0) return out;
  out.schedule = schedule.ours;
  if (how.layers > 0) out.layers = layers_of_parts(how, parts * how.ranks, diagnostics);
  const bool interleaves = schedule.ours == "interleaved-1f1b";
  if (interleaves && micro_batches % how.ranks == 0) {
    out.parts = parts;
    if (!schedule.differs.empty())
      out.notes.push_back(fmt::format("pipeline_parallel_schedule {}: forecast as {}; {}", shown(how.schedule),
                                      out.schedule, schedule.differs));
    return out;
  }
  out.layers = layers_of_ranks(out.layers, how.ranks, schedule.folded);
  if (interleaves) {
    out.schedule = "1f1b";
    out.notes.push_back(
        fmt::format("pipeline_parallel_schedule {}: {} micro-batches are no multiple of {} ranks, 1f1b is forecast: "
                    "its bubble is {} times as long",
                    shown(how.schedule), micro_batches, how.ranks, parts));
  } else if (!schedule.differs.empty()) {
    out.notes.push_back(fmt::format("pipeline_parallel_schedule {}: forecast as {}; {}", shown(how.schedule),
                                    out.schedule, schedule.differs));
  }
  return out;
}

}  // namespace stepcast
