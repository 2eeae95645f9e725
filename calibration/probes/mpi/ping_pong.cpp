#include "calibration/probes/mpi/ping_pong.hpp"

#include <algorithm>
#include <cstddef>

#include "calibration/probes/common/fault.hpp"

namespace stepcast::probes {
namespace {

constexpr std::int64_t kLargeMessage = 1 << 20;  // far beyond eager limits, and quick on slow links

struct Pair {
  int from, to;
};

std::byte content(std::size_t i) { return static_cast<std::byte>((i * 31 + 7) & 0xff); }

/// One message there and `back` bytes in return; what arrives at `to` is compared on request.
class Exchange {
 public:
  Exchange(const World& world, Pair pair, std::int64_t size, std::int64_t back)
      : world_(world),
        pair_(pair),
        size_(static_cast<int>(size)),
        back_(static_cast<int>(back)),
        buffer_(static_cast<std::size_t>(std::max<std::int64_t>(size, 1))) {
    if (world.rank == pair.from)
      for (std::size_t i = 0; i < buffer_.size(); ++i) buffer_[i] = content(i);
  }

  void run() {
    if (world_.rank == pair_.from) {
      MPI_Send(buffer_.data(), size_, MPI_BYTE, pair_.to, 0, MPI_COMM_WORLD);
      MPI_Recv(buffer_.data(), back_, MPI_BYTE, pair_.to, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(buffer_.data(), size_, MPI_BYTE, pair_.from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(buffer_.data(), back_, MPI_BYTE, pair_.from, 0, MPI_COMM_WORLD);
    }
  }

  void require_right() const {
    for (std::size_t i = 0; i < static_cast<std::size_t>(size_); ++i)
      if (buffer_[i] != content(i))
        throw check_failed("ping-pong of " + std::to_string(size_) + " B from rank " + std::to_string(pair_.from) +
                           " to rank " + std::to_string(pair_.to) + ": byte " + std::to_string(i) + " is wrong");
  }

 private:
  const World& world_;
  Pair pair_;
  int size_, back_;
  std::vector<std::byte> buffer_;
};

/// Times rounds on the pair's first rank; the others sleep meanwhile. The result is valid on `from` alone.
Measured rounds(const World& world, const Measuring& measuring, Pair pair, std::int64_t size, std::int64_t back) {
  Measured out;
  if (world.rank == pair.from || world.rank == pair.to) {
    Exchange exchange(world, pair, size, back);
    double round_us = 0;
    for (int i = 0; i < 3; ++i) {
      const double begin = MPI_Wtime();
      exchange.run();
      round_us = (MPI_Wtime() - begin) * 1e6;
      if (i == 0) exchange.require_right();
    }
    const int other = world.rank == pair.from ? pair.to : pair.from;
    double longest = 0;
    MPI_Sendrecv(&round_us, 1, MPI_DOUBLE, other, 1, &longest, 1, MPI_DOUBLE, other, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    out = planned(measuring, true, std::max(longest, round_us));
    for (double& sample : out.samples_us) {
      const double begin = MPI_Wtime();
      for (int i = 0; i < out.calls_per_sample; ++i) exchange.run();
      sample = (MPI_Wtime() - begin) * 1e6 / out.calls_per_sample;
    }
  }
  quiet_barrier(MPI_COMM_WORLD);
  return out;
}

/// Hands the samples of `from` to rank 0.
void to_first(const World& world, Pair pair, Measured& measured) {
  if (pair.from == 0) return;
  int header[2] = {static_cast<int>(measured.samples_us.size()), measured.calls_per_sample};
  if (world.rank == pair.from) {
    MPI_Send(header, 2, MPI_INT, 0, 2, MPI_COMM_WORLD);
    MPI_Send(measured.samples_us.data(), header[0], MPI_DOUBLE, 0, 3, MPI_COMM_WORLD);
  } else if (world.first()) {
    MPI_Recv(header, 2, MPI_INT, pair.from, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    measured.samples_us.resize(static_cast<std::size_t>(header[0]));
    measured.calls_per_sample = header[1];
    MPI_Recv(measured.samples_us.data(), header[0], MPI_DOUBLE, pair.from, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

void add_row(const World& world, Pair pair, std::int64_t size, const char* direction, const Measured& measured,
             ResultFile& file) {
  const int from = world.node_of[static_cast<std::size_t>(pair.from)],
            to = world.node_of[static_cast<std::size_t>(pair.to)];
  Json row{{"kind", "ping_pong"},
           {"size_bytes", size},
           {"nodes", from == to ? 1 : 2},
           {"from", world.hosts[static_cast<std::size_t>(from)]},
           {"to", world.hosts[static_cast<std::size_t>(to)]},
           {"direction", direction},
           {"transport", "mpi"},
           {"samples_us", samples_json(measured.samples_us)}};
  if (measured.calls_per_sample > 1) row["calls_per_sample"] = measured.calls_per_sample;
  row["checked"] = true;
  file.add(std::move(row));
}

void probe_both(const World& world, const Measuring& measuring, Pair pair, std::int64_t size, ResultFile& file) {
  Measured measured = rounds(world, measuring, pair, size, size);
  to_first(world, pair, measured);
  for (double& sample : measured.samples_us) sample /= 2;
  if (world.first()) add_row(world, pair, size, "both", measured, file);
}

/// A message one way: the round with an empty answer, less the empty answer's half of an empty round.
void probe_one_way(const World& world, const Measuring& measuring, Pair pair, std::int64_t size, ResultFile& file) {
  Measured empty = rounds(world, measuring, pair, 0, 0);
  Measured measured = rounds(world, measuring, pair, size, 0);
  to_first(world, pair, empty);
  to_first(world, pair, measured);
  if (!world.first()) return;
  const double answer = *std::min_element(empty.samples_us.begin(), empty.samples_us.end()) / 2;
  for (double& sample : measured.samples_us) sample = std::max(sample - answer, sample / 2);
  add_row(world, pair, size, "one_way", measured, file);
}

}  // namespace

void probe_ping_pong(const World& world, const Measuring& measuring, const std::vector<std::int64_t>& sizes,
                     bool all_hosts, ResultFile& file) {
  std::vector<Pair> pairs;
  if (world.nodes > 1) pairs.push_back({0, world.leader(1)});
  for (int rank = 1; rank < world.ranks && pairs.size() < 2; ++rank)
    if (world.node_of[static_cast<std::size_t>(rank)] == 0) pairs.push_back({0, rank});
  for (const Pair& pair : pairs)
    for (const std::int64_t size : sizes) probe_both(world, measuring, pair, size, file);
  if (!all_hosts) return;
  const std::int64_t large = std::min(kLargeMessage, sizes.back());
  for (int a = 0; a < world.nodes; ++a)
    for (int b = a + 1; b < world.nodes; ++b) {
      const Pair there{world.leader(a), world.leader(b)}, back{there.to, there.from};
      if (there.from != pairs[0].from || there.to != pairs[0].to)
        probe_both(world, measuring, there, sizes.front(), file);
      probe_one_way(world, measuring, there, large, file);
      probe_one_way(world, measuring, back, large, file);
    }
}

}  // namespace stepcast::probes
