#pragma once

#include <mpi.h>

#include <string>
#include <vector>

namespace stepcast::probes {

/// The processes of MPI_COMM_WORLD and the hosts that they are on.
struct World {
  int rank = 0, ranks = 1;
  int nodes = 1, ranks_per_node = 1;  ///< ranks on the fullest host
  std::vector<std::string> hosts;     ///< by their first rank
  std::vector<int> node_of;           ///< index into `hosts`, by rank
  std::string library;                ///< as "Open MPI v4.1.4"

  [[nodiscard]] bool first() const { return rank == 0; }
  /// The lowest rank on a host.
  [[nodiscard]] int leader(int node) const;
};

/// Facts of the running MPI program. Two ranks share a host when MPI says that they can share memory.
World world();

/// Waits for all ranks without using the processor, so that who waits does not slow down who works.
void quiet_barrier(MPI_Comm communicator);

/// How long a row may take.
struct Measuring {
  int samples = 20;          ///< as many as asked for
  double row_seconds = 0.5;  ///< fewer, but at least `kLeastSamples`, when they would take longer than this
};
inline constexpr int kLeastSamples = 5;

struct Measured {
  std::vector<double> samples_us;  ///< of the slowest rank; the same on every rank
  int calls_per_sample = 1;
};

/// Times a collective call. All ranks begin together, after a barrier. A sample of a call that waits for every rank's
/// data (`synchronizing`) is the mean of as many calls as take about 200 µs, because what a barrier leaves of skew is
/// as long as a short call; of other calls it is a single one, since further ones would overtake it.
template <typename Call>
Measured measure(const World& world, const Measuring& measuring, bool synchronizing, const Call& call);

/// Samples and calls a sample so that a row keeps to its time, given how long one call takes.
Measured planned(const Measuring& measuring, bool synchronizing, double call_us);

/// The largest over the ranks, element by element, on every rank.
void largest_of_all(std::vector<double>& values);
double largest_of_all(double value);

template <typename Call>
Measured measure(const World&, const Measuring& measuring, bool synchronizing, const Call& call) {
  constexpr int kWarmUp = 3;  // opens connections, finds the eager limit, fills caches
  double call_us = 0;
  for (int i = 0; i < kWarmUp; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    call();
    call_us = (MPI_Wtime() - begin) * 1e6;
  }
  Measured out = planned(measuring, synchronizing, largest_of_all(call_us));
  for (double& sample : out.samples_us) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    for (int i = 0; i < out.calls_per_sample; ++i) call();
    sample = (MPI_Wtime() - begin) * 1e6 / out.calls_per_sample;
  }
  largest_of_all(out.samples_us);
  return out;
}

}  // namespace stepcast::probes
