#pragma once

#include <span>
#include <utility>
#include <vector>

#include "models/parallelism/job.hpp"
#include "models/reliability/checkpoint.hpp"
#include "sim/step_graph.hpp"

namespace stepcast {

struct BuildOptions {
  Granularity granularity = Granularity::segment;
  /// Eight million take some 10 s and 2 GB (measured 2026-11: GPT-3 by operator, 6 GB for some 30 million).
  std::size_t most_operations = 8'000'000;
  FlowDetail flows = FlowDetail::folded;
};

/// NodeState::kind of the nodes of a job's devices, by their order in its graph; empty where all nodes are of one kind.
std::vector<int> device_kinds(const Job& job);

/// The options that a scenario asks for.
BuildOptions build_options(const Scenario& scenario);

/// The step of a job as a graph of operations on representative devices (or, with `full` flows, on every rank's), with
/// the links that they share. The job must outlive the graph. Throws InputError, without a file, when the graph would
/// be larger than the options allow.
StepGraph build_step_graph(const Job& job, const BuildOptions& options = {});

/// A step during which an asynchronous checkpoint drains from the nodes' memory to shared storage, over the NICs that
/// train. The checkpoint may outlast it: what ends the step is named.
struct WritingStep {
  StepGraph graph;
  std::vector<int> ends;  ///< of the step, one for each device
};
/// `written`: its cost (checkpoint_cost).
WritingStep build_writing_step(const Job& job, const CheckpointCost& written, const BuildOptions& options = {});

/// A job among others on one fabric (it has been lowered for its nodes), which repeats its step.
struct SharedJob {
  const Job* job = nullptr;
  BuildOptions options;
  int steps = 1;
};

/// Steps of several jobs in one graph, with the fabric's up-links and shared storage in common.
struct SharedStepGraph {
  StepGraph graph;
  /// By job and step: the operations that end it, one for each device.
  std::vector<std::vector<std::vector<int>>> ends;
};
SharedStepGraph build_shared_graph(std::span<const SharedJob> jobs);

}  // namespace stepcast
