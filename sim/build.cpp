#include "sim/build.hpp"

#include <fmt/format.h>

#include <memory>
#include <optional>

#include "models/storage/storage.hpp"
#include "sim/step/column_builder.hpp"
#include "sim/step/folded_network.hpp"
#include "sim/step/full_network.hpp"

namespace stepcast {

namespace {

/// One job's part of a graph.
class JobBuilder {
 public:
  JobBuilder(const Job& job, const BuildOptions& options, StepGraph& graph)
      : job_(job), columns_(columns_of(job, options.flows)), context_(job, options, graph) {}

  /// Leaves that all jobs' traffic must be laid on; before any of them makes its links.
  void watch(SharedLinks& shared) const { FoldedNetwork::watch_representatives(job_, columns_, shared); }

  void add_devices(std::string_view prefix) {
    const int stages = job_.scenario->degrees.pp;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      // Of its first stage, so that no two jobs share a number.
      const auto pipeline = static_cast<int>(context_.graph.devices().size());
      for (int stage = 0; stage < stages; ++stage) {
        const int rank = columns_[c].base_rank + job_.layout.first_rank(stage);
        const int device =
            context_.graph.add_device(name_of(prefix, columns_[c], stage, rank), columns_[c].multiplicity, pipeline);
        members_.push_back({static_cast<int>(c), stage, device, rank});
      }
    }
  }

  void add_links(SharedLinks& shared) {
    if (context_.options.flows == FlowDetail::full)
      network_ = std::make_unique<FullNetwork>(job_, columns_, context_.graph, shared, members_);
    else
      network_ = std::make_unique<FoldedNetwork>(job_, columns_, context_.graph, shared, members_);
  }

  /// Emits a step that begins when `before` has ended (−1: at once). Returns the operations that end it.
  std::vector<int> add_step(int before) {
    const auto first = static_cast<int>(context_.graph.operations().size());
    Joins joins(job_, columns_, context_.options.flows);
    const auto stages = static_cast<std::size_t>(job_.scenario->degrees.pp);
    std::vector<int> ends;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const auto begin = members_.begin() + static_cast<std::ptrdiff_t>(c * stages);
      ColumnBuilder column(context_, columns_[c], {begin, begin + static_cast<std::ptrdiff_t>(stages)}, *network_,
                           joins);
      const std::vector<int> of_column = column.build();
      ends.insert(ends.end(), of_column.begin(), of_column.end());
    }
    joins.join(context_.graph);
    if (before >= 0)
      for (const int root : context_.graph.roots(first)) context_.graph.add_edge(before, root);
    return ends;
  }

  /// From the start on every device's share of a checkpoint leaves its node.
  void add_writing(const CheckpointCost& written) {
    const double devices = job_.layout.devices();
    for (const Member& member : members_) {
      const Column& column = columns_[static_cast<std::size_t>(member.column)];
      const Scenario& kind = *job_.in_state(column.state[static_cast<std::size_t>(member.stage)]).scenario;
      if (!stores_over_training_nics(kind)) continue;
      const BytesPerSecond rate = writing_rate(kind, written.local) / job_.layout.devices_per_node;
      const std::vector<Flow> flows = network_->storage_write(member, written.size / devices, rate);
      if (flows.empty()) continue;
      Operation operation;
      operation.kind = OperationKind::storage;
      operation.stream = StreamKind::copy;
      operation.dimension = Dimension::storage;
      operation.collective = CollectiveKind::send_recv;
      operation.device = member.device;
      operation.name = "write checkpoint";
      context_.graph.add_operation(operation, flows);
    }
  }

  /// An operation that has ended when all of `ends` have.
  int meet(const std::vector<int>& ends) {
    const int meeting = context_.graph.add_meeting(members_.front().device);
    for (const int end : ends) context_.graph.add_edge(end, meeting);
    return meeting;
  }

 private:
  std::string name_of(std::string_view prefix, const Column& column, int stage, int rank) const {
    const bool piped = job_.scenario->degrees.pp > 1;
    std::string name = piped ? fmt::format("pipeline stage {}", stage) : "device";
    if (context_.options.flows == FlowDetail::full) {
      name = fmt::format("rank {}", rank);
    } else if (!column.name.empty()) {
      name += ", " + column.name;
    }
    return prefix.empty() ? name : fmt::format("{}: {}", prefix, name);
  }

  const Job& job_;
  const std::vector<Column> columns_;
  StepContext context_;
  std::vector<Member> members_;
  std::unique_ptr<StepNetwork> network_;
};

}  // namespace

std::vector<int> device_kinds(const Job& job) {
  std::vector<int> out;
  if (job.scenario->other_kinds.empty()) return out;
  for (const Column& column : columns_of(job, job.scenario->spec.run.flows))
    for (const int state : column.state)
      out.push_back(slowest_of(*job.scenario, job.fold.states[static_cast<std::size_t>(state)]).kind);
  return out;
}

BuildOptions build_options(const Scenario& scenario) {
  BuildOptions options;
  options.granularity = scenario.spec.run.granularity;
  options.flows = scenario.spec.run.flows;
  return options;
}

StepGraph build_step_graph(const Job& job, const BuildOptions& options) {
  StepGraph graph;
  SharedLinks shared(graph);
  JobBuilder builder(job, options, graph);
  builder.watch(shared);
  builder.add_devices("");
  builder.add_links(shared);
  builder.add_step(-1);
  graph.finish();
  return graph;
}

WritingStep build_writing_step(const Job& job, const CheckpointCost& written, const BuildOptions& options) {
  WritingStep out;
  SharedLinks shared(out.graph);
  JobBuilder builder(job, options, out.graph);
  builder.watch(shared);
  builder.add_devices("");
  builder.add_links(shared);
  out.ends = builder.add_step(-1);
  builder.add_writing(written);
  out.graph.finish();
  return out;
}

SharedStepGraph build_shared_graph(std::span<const SharedJob> jobs) {
  SharedStepGraph out;
  SharedLinks shared(out.graph);
  std::vector<std::unique_ptr<JobBuilder>> builders;
  for (const SharedJob& job : jobs) {
    builders.push_back(std::make_unique<JobBuilder>(*job.job, job.options, out.graph));
    builders.back()->watch(shared);
  }
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    builders[j]->add_devices(fmt::format("job {}", j + 1));
    builders[j]->add_links(shared);
  }
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    std::vector<std::vector<int>>& ends = out.ends.emplace_back();
    int before = -1;
    for (int step = 0; step < jobs[j].steps; ++step) {
      ends.push_back(builders[j]->add_step(before));
      before = builders[j]->meet(ends.back());
    }
  }
  out.graph.finish();
  return out;
}

}  // namespace stepcast
