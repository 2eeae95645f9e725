#include <bit>
#include <regex>
#include <span>
#include <string>

#include "models/collectives/mpi.hpp"

namespace stepcast {

namespace {

using enum HostAlgorithm;

// Open MPI up to 4.0, coll/tuned, fixed decisions (file ompi/mca/coll/tuned/coll_tuned_decision_fixed.c): the numbers
// below are its switch points for commutative sums.

HostChoice all_reduce_4_0(Bytes size, int ranks) {
  if (size < 10000_B) return {recursive_doubling, {}};
  // Fewer elements (of 4 bytes) than ranks cannot be cut for a ring.
  return {size / ranks > 4_B ? ring : reduce_broadcast, {}};
}

HostChoice broadcast_4_0(Bytes size, int ranks) {
  const double bytes = size.value();
  if (size < 2048_B) return {binomial, {}};
  if (size < 370728_B) return {split_binary, 1_KiB};
  if (ranks < 1.6134e-6 * bytes + 2.1102) return {pipeline, 128_KiB};
  if (ranks < 13) return {split_binary, 8_KiB};
  if (ranks < 2.3679e-6 * bytes + 1.1787) return {pipeline, 64_KiB};
  if (ranks < 3.2118e-6 * bytes + 8.7936) return {pipeline, 16_KiB};
  return {pipeline, 8_KiB};
}

HostChoice reduce_4_0(Bytes size, int ranks) {
  const double kibibytes = size.in(1_KiB);
  if (ranks < 8 && size < 512_B) return {linear, {}};
  if (ranks < 8 && size < 20480_B) return {binomial, {}};
  if (size < 2048_B) return {binomial, {}};
  if (ranks > 0.6016 * kibibytes + 1.3496) return {binomial, {}};  // a binary tree in segments of 1 KiB
  if (ranks > 0.0410 * kibibytes + 9.7128) return {pipeline, 1_KiB};
  return {pipeline, ranks > 0.0033 * kibibytes + 1.6761 ? 32_KiB : 64_KiB};
}

HostChoice all_gather_4_0(Bytes size, int ranks) {
  if (ranks == 2) return {recursive_doubling, {}};
  if (size < 50000_B) return {std::has_single_bit(static_cast<unsigned>(ranks)) ? recursive_doubling : bruck, {}};
  return {ranks % 2 == 1 ? ring : neighbor_exchange, {}};
}

HostChoice reduce_scatter_4_0(Bytes size, int ranks) {
  const bool halves = size <= 12_KiB || (size <= 256_KiB && std::has_single_bit(static_cast<unsigned>(ranks))) ||
                      ranks >= 0.0012 * size.value() + 8;
  return {halves ? recursive_halving : ring, {}};
}

HostChoice all_to_all_4_0(Bytes size, int ranks) {
  const Bytes block = size / ranks;
  if (ranks == 2) return {pairwise, {}};
  if (block < 200_B && ranks > 12) return {bruck, {}};
  return {block < 3000_B ? linear : pairwise, {}};
}

/// An entry of a table of switch points: up to, not including, so many ranks and bytes.
struct Rule {
  int ranks;
  double bytes;
  HostAlgorithm algorithm;
};
constexpr double kAnySize = 1e300;
constexpr int kAnyRanks = 2147483647;

HostChoice look_up(std::span<const Rule> rules, Bytes size, int ranks) {
  for (const Rule& rule : rules)
    if (ranks < rule.ranks && size.value() < rule.bytes) return {rule.algorithm, {}};
  return {rules.back().algorithm, {}};
}

// Open MPI 4.1, and 5 where it does not go by levels, the same file: averages over tuning runs of several clusters.
// Trees of other degrees than a binomial one count as binomial, a synchronised linear exchange as a linear one, a
// butterfly as recursive halving.

constexpr std::array kAllReduce{
    Rule{4, 8, ring},
    Rule{4, 4096, recursive_doubling},
    Rule{4, 8192, ring},
    Rule{4, 16384, recursive_doubling},
    Rule{4, 262144, ring},
    Rule{4, kAnySize, rabenseifner},
    Rule{8, 16, ring},
    Rule{16, 8192, recursive_doubling},
    Rule{16, kAnySize, rabenseifner},
    Rule{32, 64, ring},
    Rule{32, 4096, recursive_doubling},
    Rule{32, kAnySize, rabenseifner},
    Rule{64, 128, ring},
    Rule{64, kAnySize, rabenseifner},
    Rule{128, 262144, recursive_doubling},
    Rule{128, kAnySize, rabenseifner},
    Rule{256, 131072, reduce_broadcast},
    Rule{256, 262144, recursive_doubling},
    Rule{256, kAnySize, rabenseifner},
    Rule{512, 4096, reduce_broadcast},
    Rule{512, kAnySize, rabenseifner},
    Rule{kAnyRanks, 2048, reduce_broadcast},
    Rule{2048, 16384, recursive_doubling},
    Rule{4096, 4096, ring},
    Rule{4096, 16384, recursive_doubling},
    Rule{4096, kAnySize, rabenseifner},
    Rule{kAnyRanks, 16384, ring},
    Rule{kAnyRanks, 32768, recursive_doubling},
    Rule{kAnyRanks, kAnySize, rabenseifner},
};

constexpr std::array kBroadcast{
    Rule{4, 512, binomial},
    Rule{4, 524288, linear},
    Rule{8, 8192, binomial},
    Rule{8, kAnySize, linear},
    Rule{16, 32768, binomial},
    Rule{16, kAnySize, linear},
    Rule{32, 1048576, binomial},
    Rule{32, kAnySize, scatter_all_gather},
    Rule{1024, kAnySize, binomial},
    Rule{2048, 524288, binomial},
    Rule{kAnyRanks, 262144, binomial},
    Rule{kAnyRanks, kAnySize, scatter_all_gather},
};

constexpr std::array kReduce{
    Rule{4, 262144, linear},   Rule{4, kAnySize, pipeline},         Rule{8, 262144, binomial},
    Rule{8, kAnySize, linear}, Rule{kAnyRanks, kAnySize, binomial},
};

// By bytes of one rank's block.
constexpr std::array kAllGather{
    Rule{32, kAnySize, recursive_doubling},
    Rule{64, 1024, recursive_doubling},
    Rule{256, 512, recursive_doubling},
    Rule{128, 65536, neighbor_exchange},
    Rule{128, kAnySize, ring},
    Rule{512, 1024, recursive_doubling},
    Rule{512, 131072, neighbor_exchange},
    Rule{512, 524288, ring},
    Rule{512, 1048576, neighbor_exchange},
    Rule{512, kAnySize, ring},
    Rule{1024, 2048, recursive_doubling},
    Rule{kAnyRanks, 512, bruck},
    Rule{kAnyRanks, 4096, recursive_doubling},
    Rule{kAnyRanks, kAnySize, neighbor_exchange},
};

constexpr std::array kReduceScatter{
    Rule{4, kAnySize, ring},  Rule{32, 262144, recursive_halving},
    Rule{32, kAnySize, ring}, Rule{64, 524288, recursive_halving},
    Rule{64, kAnySize, ring}, Rule{kAnyRanks, kAnySize, recursive_halving},
};

// By bytes of one rank's whole buffer over the ranks.
constexpr std::array kAllToAll{
    Rule{3, kAnySize, pairwise},       Rule{16, kAnySize, linear},   Rule{64, 512, bruck},
    Rule{64, kAnySize, linear},        Rule{256, 1024, bruck},       Rule{256, 262144, linear},
    Rule{256, kAnySize, pairwise},     Rule{512, 1024, bruck},       Rule{512, 32768, linear},
    Rule{512, kAnySize, pairwise},     Rule{1024, 512, bruck},       Rule{1024, 262144, linear},
    Rule{1024, kAnySize, pairwise},    Rule{2048, 512, bruck},       Rule{2048, kAnySize, linear},
    Rule{4096, 1024, bruck},           Rule{4096, kAnySize, linear}, Rule{kAnyRanks, 2048, bruck},
    Rule{kAnyRanks, kAnySize, linear},
};

HostChoice open_mpi_4_0(const HostCollective& call) {
  switch (call.kind) {
    case CollectiveKind::all_reduce:
      return all_reduce_4_0(call.size, call.ranks);
    case CollectiveKind::broadcast:
      return broadcast_4_0(call.size, call.ranks);
    case CollectiveKind::reduce:
      return reduce_4_0(call.size, call.ranks);
    case CollectiveKind::all_gather:
      return all_gather_4_0(call.size, call.ranks);
    case CollectiveKind::reduce_scatter:
      return reduce_scatter_4_0(call.size, call.ranks);
    case CollectiveKind::all_to_all:
      return all_to_all_4_0(call.size, call.ranks);
    case CollectiveKind::send_recv:
      return {point_to_point, {}};
    case CollectiveKind::barrier:
      break;
  }
  return {recursive_doubling, {}};
}

HostChoice open_mpi_4_1(const HostCollective& call) {
  switch (call.kind) {
    case CollectiveKind::all_reduce: {
      // A buffer of fewer elements (of 4 bytes) than ranks cannot be cut in as many pieces.
      const HostChoice choice = look_up(kAllReduce, call.size, call.ranks);
      const bool cut = choice.algorithm == ring || choice.algorithm == rabenseifner;
      return cut && call.size / call.ranks < 4_B ? HostChoice{recursive_doubling, {}} : choice;
    }
    case CollectiveKind::broadcast:
      return look_up(kBroadcast, call.size, call.ranks);
    case CollectiveKind::reduce:
      return look_up(kReduce, call.size, call.ranks);
    case CollectiveKind::all_gather:
      return look_up(kAllGather, call.size / call.ranks, call.ranks);
    case CollectiveKind::reduce_scatter:
      return look_up(kReduceScatter, call.size, call.ranks);
    case CollectiveKind::all_to_all:
      return look_up(kAllToAll, call.size / call.ranks, call.ranks);
    case CollectiveKind::send_recv:
    case CollectiveKind::barrier:
      break;
  }
  return open_mpi_4_0(call);
}

// Open MPI 5: coll/han (ompi/mca/coll/han) goes before coll/tuned (priority 35 against 30, pull request 11362) wherever
// several nodes have several ranks each. It cuts all_reduce, broadcast and reduce into segments of 64 KiB
// (coll_han_component.c) and leaves what it does not have to coll/tuned.
constexpr Bytes kHanSegment = 64_KiB;

/// Several ranks on each of several nodes.
bool has_levels(const HostCollective& call) { return call.ranks_per_node > 1 && call.ranks > call.ranks_per_node; }

HostChoice open_mpi_5(const HostCollective& call) {
  if (!has_levels(call)) return open_mpi_4_1(call);
  switch (call.kind) {
    case CollectiveKind::all_reduce:
    case CollectiveKind::broadcast:
    case CollectiveKind::reduce:
      return {two_level, kHanSegment};
    case CollectiveKind::all_gather:
    case CollectiveKind::barrier:
      return {two_level, {}};
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::all_to_all:
    case CollectiveKind::send_recv:
      break;
  }
  return open_mpi_4_1(call);
}

/// As many elements (of 4 bytes) as the largest power of two of ranks can share.
bool can_be_cut(Bytes size, int ranks) { return size >= 4_B * std::bit_floor(static_cast<unsigned>(ranks)); }

/// MPICH 4 (github.com/pmodels/mpich, maint/tuning/coll: mpir/generic.json, and ch4/generic.json for what it runs
/// inside nodes and between them apart), for commutative sums. A block that each rank sends to scattered peers counts
/// as one of a linear exchange; a broadcast inside nodes and between them is a binomial tree over ranks that fill
/// nodes.
HostChoice mpich(const HostCollective& call) {
  const Bytes size = call.size, block = call.size / call.ranks;
  const bool power_of_two = std::has_single_bit(static_cast<unsigned>(call.ranks));
  switch (call.kind) {
    case CollectiveKind::all_reduce:
      if (has_levels(call) && size <= 32_KiB) return {two_level, {}};
      return {size > 8_B && can_be_cut(size, call.ranks) ? rabenseifner : recursive_doubling, {}};
    case CollectiveKind::broadcast:
      if (call.ranks < 8 || size < 12_KiB) return {binomial, {}};
      return {power_of_two && size < 512_KiB ? scatter_doubling : scatter_all_gather, {}};
    case CollectiveKind::reduce:
      return {size > 2_KiB && can_be_cut(size, call.ranks) ? rabenseifner : binomial, {}};
    case CollectiveKind::all_gather:
      if (power_of_two && size < 512_KiB) return {recursive_doubling, {}};
      return {!power_of_two && size < 80_KiB ? bruck : ring, {}};
    case CollectiveKind::reduce_scatter:
      return {size < 512_KiB ? recursive_halving : pairwise, {}};
    case CollectiveKind::all_to_all:
      if (call.ranks >= 8 && block <= 256_B) return {bruck, {}};
      return {block <= 32_KiB ? linear : pairwise, {}};
    case CollectiveKind::send_recv:
      return {point_to_point, {}};
    case CollectiveKind::barrier:
      break;
  }
  return {recursive_doubling, {}};
}

/// Gloo (github.com/facebookincubator/gloo, allreduce.cc, broadcast.cc, allgather.cc, alltoall.cc, barrier.cc): a ring
/// in segments unless told otherwise, a binomial tree, rings, all messages at once, dissemination.
HostChoice gloo(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_reduce:
    case CollectiveKind::all_gather:
    case CollectiveKind::reduce_scatter:
      return {ring, {}};
    case CollectiveKind::broadcast:
    case CollectiveKind::reduce:
      return {binomial, {}};
    case CollectiveKind::all_to_all:
      return {linear, {}};
    case CollectiveKind::send_recv:
      return {point_to_point, {}};
    case CollectiveKind::barrier:
      break;
  }
  return {recursive_doubling, {}};
}

/// A name and the first two numbers of the version behind it: "openmpi-4.1.6", "mpich-4", "mvapich2".
struct VersionedName {
  std::string name;
  std::optional<int> major;
  std::optional<int> minor;
};

std::optional<VersionedName> versioned(std::string_view text) {
  static const std::regex kForm(R"(([a-z]+(?:-[a-z]+)*)-?(?:(\d{1,4})(?:\.(\d{1,3})(?:\.\d{1,3})*)?)?)");
  std::match_results<std::string_view::const_iterator> match;
  if (!std::regex_match(text.begin(), text.end(), match, kForm)) return std::nullopt;
  VersionedName out;
  out.name = match[1];
  if (match[2].matched) out.major = std::stoi(match[2]);
  if (match[3].matched) out.minor = std::stoi(match[3]);
  return out;
}

// Whether MPICH's rules stand for those of a product that is built on it, or of an older MPICH.
constexpr int kFirstMpichOfRules = 4;
constexpr std::array kBuiltOnMpich{"intel-mpi", "impi", "mvapich", "cray-mpich"};

}  // namespace

HostLibrary open_mpi_of(int major, std::optional<int> minor) {
  if (major >= 5) return HostLibrary::open_mpi_5;
  const bool has_tables = major == 4 && minor.value_or(1) >= 1;
  return has_tables ? HostLibrary::open_mpi_4_1 : HostLibrary::open_mpi_4_0;
}

std::optional<NamedHostLibrary> host_library_named(std::string_view name) {
  if (const auto rules = parse_enum<HostLibrary>(std::string(name))) return NamedHostLibrary{*rules};
  const auto found = versioned(name);
  if (!found) return std::nullopt;
  if (found->name == "openmpi" || found->name == "open-mpi")
    return NamedHostLibrary{found->major ? open_mpi_of(*found->major, found->minor) : kDefaultHostLibrary};
  if (found->name == "mpich")
    return NamedHostLibrary{HostLibrary::mpich, found->major.value_or(kFirstMpichOfRules) < kFirstMpichOfRules};
  for (const char* product : kBuiltOnMpich)
    if (found->name == product) return NamedHostLibrary{HostLibrary::mpich, true};
  return std::nullopt;
}

HostChoice library_choice(const HostCollective& call) {
  switch (call.library) {
    case HostLibrary::open_mpi_4_0:
      return open_mpi_4_0(call);
    case HostLibrary::open_mpi_4_1:
      return open_mpi_4_1(call);
    case HostLibrary::open_mpi_5:
      return open_mpi_5(call);
    case HostLibrary::mpich:
      return mpich(call);
    case HostLibrary::gloo:
      break;
  }
  return gloo(call.kind);
}

std::vector<HostAlgorithm> algorithms_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_reduce:
      return {recursive_doubling, rabenseifner, ring, reduce_broadcast, two_level};
    case CollectiveKind::broadcast:
      return {binomial, split_binary, pipeline, scatter_all_gather, scatter_doubling, linear, two_level};
    case CollectiveKind::reduce:
      return {binomial, pipeline, linear, rabenseifner, two_level};
    case CollectiveKind::all_gather:
      return {recursive_doubling, bruck, ring, neighbor_exchange, two_level};
    case CollectiveKind::reduce_scatter:
      return {recursive_halving, ring, pairwise};
    case CollectiveKind::all_to_all:
      return {bruck, linear, pairwise};
    case CollectiveKind::send_recv:
      return {point_to_point};
    case CollectiveKind::barrier:
      break;
  }
  return {recursive_doubling, two_level};
}

}  // namespace stepcast
