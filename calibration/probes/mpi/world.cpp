#include "calibration/probes/mpi/world.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>

namespace stepcast::probes {
namespace {

/// The lowest rank that shares memory with this one.
int lowest_neighbour(int rank) {
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
  int lowest = rank;
  MPI_Allreduce(MPI_IN_PLACE, &lowest, 1, MPI_INT, MPI_MIN, node);
  MPI_Comm_free(&node);
  return lowest;
}

/// "Open MPI v4.1.4" of a text that goes on with packages, addresses and dates.
std::string library_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  const std::string whole(text, static_cast<std::size_t>(length));
  return whole.substr(0, whole.find_first_of(",\n"));
}

}  // namespace

int World::leader(int node) const {
  return static_cast<int>(std::find(node_of.begin(), node_of.end(), node) - node_of.begin());
}

World world() {
  World out;
  MPI_Comm_rank(MPI_COMM_WORLD, &out.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &out.ranks);
  out.library = library_version();

  const int mine = lowest_neighbour(out.rank);
  std::vector<int> lowest(static_cast<std::size_t>(out.ranks));
  MPI_Allgather(&mine, 1, MPI_INT, lowest.data(), 1, MPI_INT, MPI_COMM_WORLD);
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  std::vector<char> names(sizeof name * lowest.size());
  MPI_Allgather(name, sizeof name, MPI_CHAR, names.data(), sizeof name, MPI_CHAR, MPI_COMM_WORLD);

  std::vector<int> count;
  out.node_of.resize(lowest.size());
  for (std::size_t rank = 0; rank < lowest.size(); ++rank) {
    const auto leader = static_cast<std::size_t>(lowest[rank]);
    if (leader == rank) {
      out.node_of[rank] = static_cast<int>(out.hosts.size());
      out.hosts.emplace_back(&names[rank * sizeof name]);
      count.push_back(0);
    } else {
      out.node_of[rank] = out.node_of[leader];
    }
    ++count[static_cast<std::size_t>(out.node_of[rank])];
  }
  out.nodes = static_cast<int>(out.hosts.size());
  out.ranks_per_node = *std::max_element(count.begin(), count.end());
  return out;
}

void quiet_barrier(MPI_Comm communicator) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(communicator, &request);
  for (int done = 0; !done; MPI_Test(&request, &done, MPI_STATUS_IGNORE)) usleep(200);
}

Measured planned(const Measuring& measuring, bool synchronizing, double call_us) {
  constexpr double kShortSample_us = 200;  // some 100 times what a barrier leaves of skew on a fast network
  Measured out;
  const double call = std::max(call_us, 0.1);
  if (synchronizing) out.calls_per_sample = static_cast<int>(std::clamp(std::ceil(kShortSample_us / call), 1.0, 64.0));
  const double fit = measuring.row_seconds * 1e6 / (call * out.calls_per_sample);
  const int samples = static_cast<int>(std::min<double>(measuring.samples, fit));
  out.samples_us.resize(static_cast<std::size_t>(std::max(samples, std::min(kLeastSamples, measuring.samples))));
  return out;
}

void largest_of_all(std::vector<double>& values) {
  MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
}

double largest_of_all(double value) {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return value;
}

}  // namespace stepcast::probes
