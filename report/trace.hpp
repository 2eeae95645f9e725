#pragma once

#include <filesystem>

#include "models/parallelism/job.hpp"
#include "sim/step_graph.hpp"
#include "sim/timeline.hpp"

namespace stepcast {

/// Writes one simulated step as a Chrome trace, which ui.perfetto.dev and chrome://tracing open: a process for each
/// representative device and a thread for each of its streams, segments expanded to their operators, arrows from what
/// sends to what waits for it, counters for link rates and device power (docs/formats/trace.md). Events of one stream
/// never overlap. The file appears whole or not at all, and is streamed: its size does not bound the step's. Throws
/// InputError when it cannot be written.
void write_trace(const std::filesystem::path& file, const Job& job, const StepGraph& graph, const Timeline& timeline);

}  // namespace stepcast
