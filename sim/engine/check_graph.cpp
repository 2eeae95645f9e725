#include "sim/engine/check_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace stepcast {

namespace {

template <class... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> text, Args&&... args) {
  throw std::invalid_argument("step graph: " + fmt::format(text, std::forward<Args>(args)...));
}

void check_links(const StepGraph& graph) {
  for (const GraphLink& link : graph.links()) {
    const double bandwidth = link.bandwidth.value();
    if (!std::isfinite(bandwidth) || bandwidth <= 0)
      refuse("link \"{}\": bandwidth {} B/s, expected a positive number", link.name, bandwidth);
  }
}

void check_paths(const StepGraph& graph) {
  const auto links = static_cast<int>(graph.links().size());
  for (std::size_t p = 0; p < graph.paths().size(); ++p) {
    const GraphPath& path = graph.paths()[p];
    if (!(path.weight >= kLeastWeight && path.weight <= kMostWeight))
      refuse("path {}: weight {}, expected {} to {}", p, path.weight, kLeastWeight, kMostWeight);
    if (!is_finite(path.cap) || path.cap < BytesPerSecond(0)) refuse("path {}: cap {} B/s", p, path.cap.value());
    for (auto link = path.links.begin(); link != path.links.end(); ++link) {
      if (*link < 0 || *link >= links) refuse("path {}: there is no link {}", p, *link);
      if (std::find(path.links.begin(), link, *link) != link)
        refuse("path {}: crosses link \"{}\" twice", p, graph.links()[*link].name);
    }
  }
}

void check_operations(const StepGraph& graph) {
  const auto devices = static_cast<int>(graph.devices().size());
  const auto paths = static_cast<int>(graph.paths().size());
  for (int id = 0; id < static_cast<int>(graph.operations().size()); ++id) {
    const Operation& operation = graph.operations()[id];
    const auto name = [&] { return describe(operation, id); };
    if (!is_finite(operation.work) || operation.work < Seconds(0))
      refuse("{}: work of {} s", name(), operation.work.value());
    if (operation.device < 0 || operation.device >= devices) refuse("{}: there is no such device", name());
    if (!(operation.slowdown >= 0 && operation.slowdown <= 1))
      refuse("{}: slowdown {}, expected 0 to 1", name(), operation.slowdown);
    for (const Flow& flow : graph.flows(operation)) {
      if (flow.path < 0 || flow.path >= paths) refuse("{}: there is no path {}", name(), flow.path);
      if (!is_finite(flow.bytes) || flow.bytes < Bytes(0) || flow.bytes > kMostFlowBytes)
        refuse("{}: flow of {} bytes, expected 0 to 2^53", name(), flow.bytes.value());
    }
  }
}

}  // namespace

void check_graph(const StepGraph& graph) {
  if (boost::num_vertices(graph.graph()) != graph.operations().size())
    throw std::logic_error("step graph: simulated before it was finished");
  check_links(graph);
  check_paths(graph);
  check_operations(graph);
}

}  // namespace stepcast
