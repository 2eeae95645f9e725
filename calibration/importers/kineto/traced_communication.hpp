#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibration/importers/kineto/kineto_trace.hpp"

namespace stepcast {

/// The collective of a name: of the profiler's metadata ("allreduce", "_allgather_base"), of a mark
/// ("nccl:all_to_all") or of a kernel.
std::optional<CollectiveKind> collective_of(std::string_view name);

/// Ranks of a group of `size`, `[0, 1, 2]`, as the profiler writes lists into text. Of long lists it writes the first
/// ranks, three dots and the last: those between follow where they are evenly apart, else nothing does.
std::vector<int> ranks_in(const std::string& text, int size);

/// Fills in `communication` of the kernels whose collective the profiler does not tell. `events`: of one trace, by
/// start.
void tell_communication(std::vector<TraceEvent>& events);

}  // namespace stepcast
