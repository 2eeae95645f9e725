#pragma once

#include <cstring>
#include <initializer_list>
#include <string>
#include <vector>

#include "sim/engine/engine.hpp"
#include "sim/protocol/child_process.hpp"
#include "sim/step_graph.hpp"

namespace stepcast::test {

inline Operation work(int device, double seconds, OperationKind kind = OperationKind::compute) {
  Operation operation;
  operation.device = device;
  operation.kind = kind;
  operation.work = Seconds(seconds);
  operation.name = "work";
  return operation;
}

inline Operation transfer(int device = 0, double latency = 0, float slowdown = 0) {
  Operation operation = work(device, latency, OperationKind::collective);
  operation.stream = StreamKind::data_communication;
  operation.slowdown = slowdown;
  operation.name = "transfer";
  return operation;
}

/// simulate() in a process of its own.
inline Timeline simulated(const StepGraph& graph, const EngineOptions& options = {}) {
  const auto append = [](std::string& text, const void* data, std::size_t bytes) {
    text.append(static_cast<const char*>(data), bytes);
  };
  const std::string text = run_in_child([&] {
    const Timeline timeline = simulate(graph, options);
    const std::size_t rates = timeline.link_rates.size();
    std::string out;
    append(out, timeline.spans.data(), timeline.spans.size() * sizeof(Span));
    append(out, &timeline.end, sizeof timeline.end);
    append(out, &rates, sizeof rates);
    append(out, timeline.link_rates.data(), rates * sizeof(LinkRate));
    return out;
  });
  Timeline timeline;
  const char* at = text.data();
  const auto take = [&](void* data, std::size_t bytes) {
    if (bytes > 0) std::memcpy(data, at, bytes);  // of nothing, data is null
    at += bytes;
  };
  timeline.spans.resize(graph.operations().size());
  take(timeline.spans.data(), timeline.spans.size() * sizeof(Span));
  take(&timeline.end, sizeof timeline.end);
  std::size_t rates = 0;
  take(&rates, sizeof rates);
  timeline.link_rates.resize(rates);
  take(timeline.link_rates.data(), rates * sizeof(LinkRate));
  return timeline;
}

}  // namespace stepcast::test
