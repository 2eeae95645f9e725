#include "calibration/probes/mpi/train_loop.hpp"

#include <algorithm>

#include "calibration/probes/common/fault.hpp"
#include "calibration/probes/common/program.hpp"
#include "calibration/probes/mpi/computation.hpp"
#include "calibration/probes/mpi/gradient_sums.hpp"

namespace stepcast::probes {
namespace {

struct StepTimes {
  double step_us = 0, compute_us = 0, exposed_us = 0;
};

/// One training loop: its buckets, its gradients and the ways to compute and to sum.
class Loop {
 public:
  Loop(const World& world, const TrainSettings& settings, MPI_Comm communicator)
      : world_(world),
        settings_(settings),
        buckets_(buckets_of(settings)),
        gradients_(buckets_.back().begin + buckets_.back().count),
        computation_(settings.computing),
        sums_(gradient_sums(settings.overlapping, communicator, gradients_)) {}

  StepTimes step() {
    StepTimes out;
    const double begin = now_us();
    for (int layer = 0; layer < settings_.layers; ++layer) out.compute_us += computation_.run(settings_.forward_us);
    auto bucket = buckets_.begin();
    const std::function<void()> progress = [this] { sums_->progress(); };
    for (int layer = settings_.layers - 1; layer >= 0; --layer) {
      out.compute_us += settings_.overlapping == Overlapping::test ? computation_.run(settings_.backward_us, progress)
                                                                   : computation_.run(settings_.backward_us);
      if (bucket->after_layer == layer) sums_->start(*bucket++);
    }
    const double computed = now_us();
    sums_->finish();
    out.exposed_us = now_us() - computed;
    out.step_us = now_us() - begin;
    return out;
  }

  /// A step whose gradients are known; their sums must come out.
  void checked_step() {
    for (std::size_t i = 0; i < gradients_.size(); ++i)
      gradients_[i] = static_cast<float>(world_.rank + static_cast<int>(i % 7));
    step();
    const int ranks = world_.ranks;
    const int of_ranks = ranks * (ranks - 1) / 2;
    for (std::size_t i = 0; i < gradients_.size(); ++i) {
      const auto expected = static_cast<float>(of_ranks + ranks * static_cast<int>(i % 7));
      if (gradients_[i] != expected)
        throw check_failed("training loop: wrong sum of gradients on rank " + std::to_string(world_.rank) +
                           ": element " + std::to_string(i) + " is " + std::to_string(gradients_[i]) + ", expected " +
                           std::to_string(expected));
    }
    std::fill(gradients_.begin(), gradients_.end(), 0.0F);  // sums of sums would overflow
  }

 private:
  const World& world_;
  const TrainSettings& settings_;
  std::vector<Bucket> buckets_;
  std::vector<float> gradients_;
  Computation computation_;
  std::unique_ptr<GradientSums> sums_;
};

/// The mean over the ranks: they run in step, so the mean of a step is its length, where the largest would count a
/// rank's delay twice, in its own step and in its neighbour's next.
std::vector<double> mean_over_ranks(const World& world, const std::vector<StepTimes>& times, double StepTimes::*part) {
  std::vector<double> out;
  out.reserve(times.size());
  for (const StepTimes& step : times) out.push_back(step.*part);
  MPI_Allreduce(MPI_IN_PLACE, out.data(), static_cast<int>(out.size()), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  for (double& value : out) value /= world.ranks;
  return out;
}

const char* name_of(Overlapping overlapping) {
  return overlapping == Overlapping::none ? "none" : overlapping == Overlapping::test ? "test" : "thread";
}

}  // namespace

void probe_training(const World& world, const TrainSettings& settings, ResultFile& file) {
  MPI_Comm communicator = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &communicator);
  std::vector<StepTimes> times;
  {
    Loop loop(world, settings, communicator);
    loop.checked_step();
    loop.step();
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < settings.steps; ++i) times.push_back(loop.step());
  }
  MPI_Comm_free(&communicator);
  const std::vector<double> steps = mean_over_ranks(world, times, &StepTimes::step_us);
  const std::vector<double> computed = mean_over_ranks(world, times, &StepTimes::compute_us);
  const std::vector<double> exposed = mean_over_ranks(world, times, &StepTimes::exposed_us);
  if (!world.first()) return;
  file.add({{"kind", "training_step"},
            {"ranks", world.ranks},
            {"nodes", world.nodes},
            {"ranks_per_node", world.ranks_per_node},
            {"layers", settings.layers},
            {"gradient_bytes_per_layer", settings.layer_bytes / 4 * 4},
            {"bucket_bytes", settings.bucket_bytes},
            {"forward_us_per_layer", settings.forward_us},
            {"backward_us_per_layer", settings.backward_us},
            {"compute", settings.computing == Computing::busy ? "busy" : "sleep"},
            {"overlap", name_of(settings.overlapping)},
            {"data_type", "float32"},
            {"across_ranks", "mean"},
            {"samples_us", samples_json(steps)},
            {"compute_samples_us", samples_json(computed)},
            {"exposed_samples_us", samples_json(exposed)},
            {"checked", true}});
}

}  // namespace stepcast::probes
