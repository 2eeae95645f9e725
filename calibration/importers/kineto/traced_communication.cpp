#include "calibration/importers/kineto/traced_communication.hpp"

#include <algorithm>
#include <charconv>
#include <map>

#include "fields/plain_text.hpp"

namespace stepcast {

namespace {

constexpr std::string_view kMarkOfCollective = "nccl:";
constexpr int kDeepestMarks = 8;      ///< around one call
constexpr int kMostListed = 1 << 20;  ///< ranks of a group

/// Of a kernel, by its name and the mark around its launch, "nccl:all_gather" (ProcessGroupNCCL.cpp), "" where there is
/// none. What sends and receives is an all_to_all unless the mark says that it is messages. RCCL's and MSCCL's kernels
/// have one name for all collectives; kernels of inference engines that reduce over devices reduce for all.
std::optional<CollectiveKind> communication_of(const std::string& kernel, std::string_view mark) {
  const std::string name = lower_case(kernel);
  const bool messages = contains(mark, "send") || contains(mark, "recv") || contains(mark, "coalesced");
  if (contains(name, "sendrecv")) return messages ? CollectiveKind::send_recv : CollectiveKind::all_to_all;
  if (contains(name, "cross_device_reduce")) return CollectiveKind::all_reduce;
  if (const auto by_name = collective_of(name)) return by_name;
  return messages ? CollectiveKind::send_recv : collective_of(mark);
}

/// The name of the mark that a moment lies in; of some it is the last that began.
std::string_view mark_around(double moment, const std::vector<const TraceEvent*>& marks) {
  auto next = std::upper_bound(marks.begin(), marks.end(), moment,
                               [](double time, const TraceEvent* mark) { return time < mark->start; });
  for (int deep = 0; next != marks.begin() && deep < kDeepestMarks; ++deep)
    if (moment < (*--next)->end) return (*next)->name;
  return {};
}

}  // namespace

std::optional<CollectiveKind> collective_of(std::string_view name) {
  const std::string low = lower_case(name);
  const auto has = [&](std::string_view part) { return contains(low, part); };
  if (has("reduce_scatter") || has("reducescatter")) return CollectiveKind::reduce_scatter;
  if (has("all_reduce") || has("allreduce")) return CollectiveKind::all_reduce;
  if (has("all_gather") || has("allgather")) return CollectiveKind::all_gather;
  if (has("all_to_all") || has("alltoall")) return CollectiveKind::all_to_all;
  if (has("broadcast")) return CollectiveKind::broadcast;
  if (has("barrier")) return CollectiveKind::barrier;
  if (has("send") || has("recv")) return CollectiveKind::send_recv;
  if (has("reduce")) return CollectiveKind::reduce;
  return std::nullopt;
}

std::vector<int> ranks_in(const std::string& text, int size) {
  std::vector<int> out;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] < '0' || text[at] > '9') {
      ++at;
      continue;
    }
    int value = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), value);
    if (error != std::errc()) return {};
    out.push_back(value);
    at = static_cast<std::size_t>(end - text.data());
  }
  if (!contains(text, "...")) return out;
  if (out.size() < 3 || size > kMostListed || out.back() > kMostListed) return {};
  const int last = out.back(), apart = out[1] - out[0];
  out.pop_back();
  for (std::size_t i = 1; i < out.size(); ++i)
    if (out[i] - out[i - 1] != apart) return {};
  while (static_cast<int>(out.size()) < size) out.push_back(out.back() + apart);
  return out.back() == last ? out : std::vector<int>();
}

void tell_communication(std::vector<TraceEvent>& events) {
  std::map<long, const TraceEvent*> call;                // by correlation
  std::map<long, std::vector<const TraceEvent*>> marks;  // by thread, in order of their starts
  for (const TraceEvent& event : events) {
    if (event.kind == TraceEventKind::runtime && event.correlation >= 0) call.emplace(event.correlation, &event);
    if (event.kind == TraceEventKind::annotation && event.name.starts_with(kMarkOfCollective))
      marks[event.stream].push_back(&event);
  }
  for (TraceEvent& event : events) {
    if (event.kind != TraceEventKind::kernel || event.kernel != KernelKind::communication || event.collective) continue;
    const auto launch = call.find(event.correlation);
    event.communication = communication_of(
        event.name, launch == call.end() ? "" : mark_around(launch->second->start, marks[launch->second->stream]));
  }
}

}  // namespace stepcast
