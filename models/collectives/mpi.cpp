#include "models/collectives/mpi.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace stepcast {

namespace {

using enum HostAlgorithm;

/// Segment of a pipeline that is forced without one; Open MPI's most frequent choice.
constexpr Bytes kDefaultSegment = 64_KiB;

// Of a level of a binomial tree that a rank takes in the mean: half, and a tenth for sends that wait for earlier ones.
constexpr double kShareOfLevel = 0.6;
constexpr double kCopiesOfLevel = 0.75;

// Bruck's exchange of all pairs packs, unpacks and copies back n/2 blocks at a time, of which runs halve with the
// distance, and puts each block in its place at the end (Open MPI, coll_base_alltoall.c): 4 n pieces in all.
// osu_alltoall of 1 to 4 B takes 0.18 to 0.42 µs a rank longer than its exchanges on four machines of 64 to 1,152 ranks
// (outputs of ukri-excalibur/excalibur-tests and of the tests of aws/aws-parallelcluster).
constexpr double kPiecesOfBlock = 4;
constexpr Seconds kPiece = 0.05_us;

int levels(int n) { return n <= 1 ? 0 : std::bit_width(static_cast<unsigned>(n - 1)); }
bool is_power_of_two(int n) { return std::has_single_bit(static_cast<unsigned>(n)); }

/// One call with its ranks laid out over nodes, and the times that its algorithms add up.
class Clock {
 public:
  Clock(const HostCollective& call, const HostNetwork& network)
      : call_(call),
        net_(network),
        n_(call.ranks),
        g_(std::clamp(call.ranks_per_node, 1, call.ranks)),
        local_(copied_by(g_)) {}

  [[nodiscard]] Seconds time(const HostChoice& choice) const;

 private:
  [[nodiscard]] int nodes() const { return (n_ + g_ - 1) / g_; }
  [[nodiscard]] Bytes size() const { return call_.size; }

  /// What a message between nodes takes before its bytes flow.
  [[nodiscard]] Seconds start(Bytes bytes) const {
    return net_.latency + (bytes > net_.inline_limit ? net_.copy_start : Seconds(0)) +
           (bytes > net_.eager_limit ? net_.rendezvous : Seconds(0));
  }
  /// Its bytes, where those of the node's messages that go at once take `wire`. Never less than what the longest eager
  /// message takes: libraries place the limit where the two ways meet.
  [[nodiscard]] Seconds flow(Bytes bytes, Seconds wire) const {
    if (bytes <= net_.eager_limit) return std::max(bytes / net_.eager, wire);
    return std::max(
        {std::min(bytes / net_.rail, net_.stripe + bytes / net_.stream), net_.eager_limit / net_.eager, wire});
  }
  /// Buffers of a rank: what it sends and what it gets, where they are two.
  [[nodiscard]] Bytes buffers() const {
    const bool one = call_.kind == CollectiveKind::broadcast || call_.kind == CollectiveKind::all_gather ||
                     call_.kind == CollectiveKind::reduce_scatter;
    return size() * (one ? 1 : 2);
  }
  /// What each of so many ranks of a node copies inside it at once.
  [[nodiscard]] BytesPerSecond copied_by(double ranks) const {
    const bool cached = net_.memory <= BytesPerSecond(0) || buffers() * g_ <= net_.caches;
    return cached ? net_.local : std::min(net_.local, net_.memory / ranks);
  }
  /// Into shared memory or out of it, where a rank need not wait for the other half of a step.
  [[nodiscard]] BytesPerSecond single_copy() const { return local_ * 2; }
  [[nodiscard]] Seconds local_step(Bytes bytes) const { return net_.local_latency + bytes / local_; }
  /// One rank of the node sends to the next node, or down a chain or tree, which leave a leaf as a ring does.
  [[nodiscard]] Seconds flow_to_next(Bytes bytes) const { return flow(bytes, bytes / net_.node_to_next()); }
  /// All ranks of the node send to others.
  [[nodiscard]] Seconds network_exchange(Bytes bytes) const {
    return net_.turnaround + start(bytes) + net_.node_gap * (g_ - 1) + flow(bytes, bytes * g_ / net_.node_to_all());
  }
  /// All ranks exchange with the rank so far away.
  [[nodiscard]] Seconds exchange(Bytes bytes, int distance) const {
    return distance < g_ ? local_step(bytes) : network_exchange(bytes);
  }
  [[nodiscard]] Seconds sum(Bytes bytes) const { return bytes / net_.reduce; }

  /// Exchanges over distances 1, 2, 4 …, of `bytes(step)` each.
  template <class BytesOfStep>
  [[nodiscard]] Seconds doubling(int steps, BytesOfStep bytes) const {
    Seconds out;
    for (int step = 0; step < steps; ++step) out += exchange(bytes(step), 1 << std::min(step, 30));
    return out;
  }
  /// `steps` rounds in which everybody passes `bytes` to the next rank. A rank runs ahead of a slow hop until data
  /// from there is missing, so latencies count in their mean around the ring, rates at their slowest.
  [[nodiscard]] Seconds ring_steps(double steps, Bytes bytes) const {
    if (nodes() == 1) return local_step(bytes) * steps;
    const Seconds between = net_.turnaround + start(bytes);
    if (g_ == 1) return (between + flow_to_next(bytes)) * steps;
    const Seconds mean = (net_.local_latency * (g_ - 1) + between) / g_;
    return (mean + std::max(bytes / local_, flow_to_next(bytes))) * steps;
  }
  /// Down a binomial tree, in the mean over the ranks: at each level half of them wait for a message and the others
  /// send one, later ones after earlier ones. A message is copied in and out: the receiver waits for both copies, the
  /// sender for one.
  [[nodiscard]] Seconds tree_depth(Bytes bytes) const {
    // All but one rank copy once, over all levels of the node.
    const BytesPerSecond rate = copied_by(g_ / std::max(1.0, 1.0 * levels(g_)));
    const Seconds local = net_.local_latency * kShareOfLevel + bytes * kCopiesOfLevel / rate;
    const Seconds between = (net_.turnaround + start(bytes)) * kShareOfLevel + flow_to_next(bytes) * kCopiesOfLevel;
    return levels(g_) * local + levels(nodes()) * between;
  }
  /// What a rank needs to pass one segment of a pipeline on: at a node's edge it takes one from the network and hands
  /// one copy to its neighbour.
  [[nodiscard]] Seconds segment_step(Bytes segment) const {
    if (nodes() == 1) return local_step(segment);
    const Seconds network = net_.turnaround + start(segment) + flow_to_next(segment);
    return g_ == 1 ? network : std::max(local_step(segment), network + local_step(segment) / 2);
  }

  /// A rank beyond the power of two gives its buffer to its neighbour; no others copy meanwhile.
  [[nodiscard]] Seconds hand_over() const {
    if (g_ == 1) return exchange(size(), 1);
    const double pairs = n_ - std::bit_floor(static_cast<unsigned>(n_));
    return net_.local_latency + size() / copied_by(std::max(1.0, 2 * pairs * g_ / n_));
  }

  [[nodiscard]] Seconds recursive_doubling_sum() const;
  [[nodiscard]] Seconds rabenseifner_sum() const;
  [[nodiscard]] Seconds halving() const;
  [[nodiscard]] Seconds doubling_gather() const;
  [[nodiscard]] Seconds binary_halves(Bytes segment) const;
  [[nodiscard]] Seconds segments_in_chain(Bytes segment) const;
  [[nodiscard]] Seconds all_at_once(Bytes bytes, BytesPerSecond local_rate) const;
  [[nodiscard]] Seconds in_pairs(Bytes bytes) const;

  /// The calls of one node's ranks, and of one rank of each node, in a call of all.
  [[nodiscard]] HostCollective in_node(Bytes bytes) const { return part(g_, g_, bytes); }
  [[nodiscard]] HostCollective of_leaders(Bytes bytes) const { return part(nodes(), 1, bytes); }
  [[nodiscard]] HostCollective part(int ranks, int per_node, Bytes bytes) const {
    return {call_.kind, bytes, ranks, per_node, call_.library, {}};
  }
  [[nodiscard]] Seconds tree_to_root(Bytes bytes) const;
  [[nodiscard]] Seconds root_of_tree(Bytes bytes) const;
  [[nodiscard]] Seconds leaders_sum(Bytes bytes) const;
  /// Segments behind the first.
  [[nodiscard]] double further(Bytes piece) const { return piece > Bytes(0) ? std::ceil(size() / piece) - 1 : 0; }
  [[nodiscard]] Seconds two_levels(Bytes segment) const;
  [[nodiscard]] Seconds one_way_in_two_levels(Bytes segment) const;
  [[nodiscard]] Seconds gather_in_two_levels() const;

  [[nodiscard]] Seconds all_reduce(const HostChoice& choice) const;
  [[nodiscard]] Seconds reduce(const HostChoice& choice) const;
  [[nodiscard]] Seconds one_to_all(const HostChoice& choice) const;
  [[nodiscard]] Seconds all_gather(const HostChoice& choice) const;
  [[nodiscard]] Seconds reduce_scatter(const HostChoice& choice) const;
  [[nodiscard]] Seconds all_to_all(const HostChoice& choice) const;

  const HostCollective& call_;
  const HostNetwork& net_;
  int n_, g_;
  BytesPerSecond local_;  ///< copied inside the node by each of its ranks
};

/// log2 n exchanges of the whole buffer; ranks beyond a power of two hand theirs to a neighbour and get the sum back.
Seconds Clock::recursive_doubling_sum() const {
  const int steps = is_power_of_two(n_) ? levels(n_) : levels(n_) - 1;
  Seconds out = doubling(steps, [&](int) { return size(); }) + sum(size()) * steps;
  if (!is_power_of_two(n_)) out += hand_over() * 2 + sum(size());
  return out;
}

/// Halves are exchanged and summed, then gathered back (Rabenseifner 2004).
Seconds Clock::rabenseifner_sum() const {
  const int steps = is_power_of_two(n_) ? levels(n_) : levels(n_) - 1;
  Seconds out = 2 * doubling(steps, [&](int step) { return size() / std::exp2(step + 1); });
  out += sum(size()) * (1 - std::exp2(-steps));
  if (!is_power_of_two(n_)) out += hand_over() * 2 + sum(size());
  return out;
}

/// Halves to the farthest rank first.
Seconds Clock::halving() const {
  const int steps = levels(n_);
  return doubling(steps, [&](int step) { return size() / std::exp2(steps - step); }) + sum(size()) * ((n_ - 1.0) / n_);
}

/// Every exchange doubles what a rank has; the last one is cut short when the ranks are no power of two.
Seconds Clock::doubling_gather() const {
  return doubling(levels(n_), [&](int step) {
    const double have = std::exp2(step);
    return size() * (std::min(have, n_ - have) / n_);
  });
}

/// Either half of the buffer goes down one side of a binary tree in segments; pairs across the sides exchange halves.
/// A rank that passes segments on starts a message for each and copies one and a half buffers, once in or out of the
/// shared memory: in the mean every byte of a buffer is copied into it once and out of it once, by all but the root.
Seconds Clock::binary_halves(Bytes segment) const {
  const Bytes piece = std::min(segment, size());
  const Seconds starts = std::ceil(size() / 2 / segment) * net_.local_latency;
  const Seconds copies = size() * 1.5 / single_copy();
  const Seconds fill = tree_depth(piece);
  if (nodes() == 1) return fill + starts + copies;
  const Seconds wire = size() * 1.5 / (net_.eager_limit >= segment ? net_.eager : net_.rail);
  return fill + starts + (g_ == 1 ? wire : std::max(copies, wire));
}

/// ⌈S/segment⌉ segments pass a chain of n ranks; a rank in its middle is done when half of the chain is.
Seconds Clock::segments_in_chain(Bytes segment) const {
  const Bytes piece = std::min(segment, size());
  return (std::ceil(size() / segment) + (n_ - 2) / 2.0) * segment_step(piece);
}

/// A message to each of the others, none waiting for another; those to the rank's own node at `local_rate`.
Seconds Clock::all_at_once(Bytes bytes, BytesPerSecond local_rate) const {
  const int local = g_ - 1, remote = n_ - g_;
  Seconds out = local * (net_.local_gap + bytes / local_rate);
  if (remote == 0) return out + net_.local_latency;
  const Seconds eager = std::min(bytes, net_.eager_limit) / net_.eager;
  // Not less than the longest eager message, as in flow().
  const Seconds alone = bytes <= net_.eager_limit ? eager : std::max(eager, bytes / net_.stream);
  const Seconds next = net_.gap + std::max(alone, bytes * g_ / net_.node_to_all());
  return out + start(bytes) + remote * std::max(next, net_.node_gap * g_);
}

/// n − 1 exchanges, one after another.
Seconds Clock::in_pairs(Bytes bytes) const {
  Seconds out = (g_ - 1) * local_step(bytes);
  if (n_ > g_) out += (n_ - g_) * network_exchange(bytes);
  return out;
}

/// Until the root of a binomial tree has the sum of all: every level in full, where its ranks wait for parts of it.
Seconds Clock::tree_to_root(Bytes bytes) const { return 2 * tree_depth(bytes) + levels(n_) * sum(bytes); }

/// What the root of a node's tree takes to start a message on each level and to copy it in.
Seconds Clock::root_of_tree(Bytes bytes) const { return levels(n_) * (net_.local_latency + bytes / single_copy()); }

/// One rank of each node: as MPICH sums among all, by halves once they are worth their messages.
Seconds Clock::leaders_sum(Bytes bytes) const {
  const HostCollective call = of_leaders(bytes);
  const Clock leaders(call, net_);
  const bool halves = bytes >= 4_B * nodes() && bytes > 8_B;
  return halves ? leaders.rabenseifner_sum() : leaders.recursive_doubling_sum();
}

/// Up a tree in each node, between one rank of each node, and down again. In segments the next one goes up and down in
/// the nodes while this one is between them (Open MPI, coll_han_allreduce.c).
Seconds Clock::two_levels(Bytes segment) const {
  const Bytes whole = call_.kind == CollectiveKind::barrier ? Bytes(0) : size();
  const Bytes piece = segment > Bytes(0) ? std::min(segment, whole) : whole;
  const HostCollective node_call = in_node(piece), leaders_call = of_leaders(piece);
  const Clock node(node_call, net_), leaders(leaders_call, net_);
  const Seconds between =
      segment > Bytes(0) ? leaders.tree_to_root(piece) + leaders.tree_depth(piece) : leaders_sum(piece);
  const Seconds up = node.tree_to_root(piece), down = node.tree_depth(piece);
  return up + between + down + further(piece) * std::max(up + node.root_of_tree(piece), between);
}

/// A broadcast's half of the way, or a reduction's, in the mean over the ranks.
Seconds Clock::one_way_in_two_levels(Bytes segment) const {
  const Bytes piece = segment > Bytes(0) ? std::min(segment, size()) : size();
  const HostCollective node_call = in_node(piece), leaders_call = of_leaders(piece);
  const Clock node(node_call, net_), leaders(leaders_call, net_);
  const Seconds first = node.tree_depth(piece) + leaders.tree_depth(piece);
  if (call_.kind == CollectiveKind::broadcast)
    return first + further(piece) * std::max(node.root_of_tree(piece), leaders.tree_depth(piece));
  return first + further(piece) * std::max(node.tree_to_root(piece), leaders.tree_to_root(piece));
}

/// A node's blocks are gathered by one of its ranks, exchanged between these, and the whole is handed out in the node
/// (Open MPI, coll_han_allgather.c).
Seconds Clock::gather_in_two_levels() const {
  const HostCollective leaders_call = of_leaders(size());
  HostCollective handed = in_node(size());
  handed.kind = CollectiveKind::broadcast;
  const Seconds gathered =
      g_ > 1 ? net_.local_latency + (g_ - 1) * (net_.local_gap + size() / n_ / single_copy()) : Seconds(0);
  return gathered + host_collective_time(leaders_call, net_).time + host_collective_time(handed, net_).time;
}

Seconds Clock::all_reduce(const HostChoice& choice) const {
  switch (choice.algorithm) {
    case two_level:
      return two_levels(choice.segment);
    case rabenseifner:
      return rabenseifner_sum();
    case ring:
      return ring_steps(2.0 * (n_ - 1), size() / n_) + sum(size()) * ((n_ - 1.0) / n_);
    case reduce_broadcast:
      // The root's result leaves when the last of the tree has arrived: the whole depth, then the mean of a broadcast.
      return 3 * tree_depth(size()) + levels(n_) * sum(size());
    default:
      return recursive_doubling_sum();
  }
}

Seconds Clock::reduce(const HostChoice& choice) const {
  // Halves are summed as in an all_reduce and gathered by the root alone, which takes as long.
  if (choice.algorithm == rabenseifner) return rabenseifner_sum();
  return one_to_all(choice) + sum(size()) * (choice.algorithm == pipeline ? 1 : levels(n_) / 2.0);
}

Seconds Clock::one_to_all(const HostChoice& choice) const {
  const Bytes segment = choice.segment > Bytes(0) ? choice.segment : kDefaultSegment;
  switch (choice.algorithm) {
    case split_binary:
      return binary_halves(segment);
    case pipeline:
      return segments_in_chain(segment);
    case scatter_all_gather:
      return tree_depth(size() / 2) + ring_steps(n_ - 1, size() / n_);
    case scatter_doubling:
      return tree_depth(size() / 2) + doubling_gather();
    case two_level:
      return one_way_in_two_levels(choice.segment);
    case linear:
      // A rank waits for half of the root's messages on average, the root for all of them. The root copies into the
      // node's memory only; the others copy out of it side by side, while it goes on.
      return all_at_once(size(), single_copy()) * (0.5 + 1.0 / n_);
    default:
      return tree_depth(size());
  }
}

Seconds Clock::all_gather(const HostChoice& choice) const {
  switch (choice.algorithm) {
    case ring:
      return ring_steps(n_ - 1, size() / n_);
    case neighbor_exchange:
      // n/2 rounds; from the second on a rank passes two blocks.
      return ring_steps(1, size() / n_) + ring_steps(std::max(0.0, n_ / 2.0 - 1), size() * (2.0 / n_));
    case bruck:
      return doubling_gather() + size() / local_;  // blocks are rotated into place at the end
    case two_level:
      return gather_in_two_levels();
    default:
      return doubling_gather();
  }
}

Seconds Clock::reduce_scatter(const HostChoice& choice) const {
  const Seconds sums = sum(size()) * ((n_ - 1.0) / n_);
  if (choice.algorithm == ring) return ring_steps(n_ - 1, size() / n_) + sums;
  if (choice.algorithm == pairwise) return in_pairs(size() / n_) + sums;
  return halving();
}

Seconds Clock::all_to_all(const HostChoice& choice) const {
  switch (choice.algorithm) {
    case bruck:
      // log2 n exchanges of half the buffer, which is rotated before and after.
      return doubling(levels(n_), [&](int) { return size() / 2; }) + size() * 2 / local_ + kPiece * kPiecesOfBlock * n_;
    case linear:
      return all_at_once(size() / n_, local_);
    default:
      return in_pairs(size() / n_);
  }
}

Seconds Clock::time(const HostChoice& choice) const {
  switch (call_.kind) {
    case CollectiveKind::all_reduce:
      return all_reduce(choice);
    case CollectiveKind::broadcast:
      return one_to_all(choice);
    case CollectiveKind::reduce:
      return reduce(choice);
    case CollectiveKind::all_gather:
      return all_gather(choice);
    case CollectiveKind::reduce_scatter:
      return reduce_scatter(choice);
    case CollectiveKind::all_to_all:
      return all_to_all(choice);
    case CollectiveKind::send_recv:
      return nodes() == 1 ? local_step(size()) : start(size()) + flow_to_next(size());
    case CollectiveKind::barrier:
      if (choice.algorithm == two_level) return two_levels(Bytes(0));
      break;
  }
  return doubling(levels(n_), [](int) { return Bytes(0); });
}

}  // namespace

HostCollectiveTime host_collective_time(const HostCollective& call, const HostNetwork& network) {
  if (call.ranks <= 1) return {Seconds(0), library_choice(call).algorithm};
  HostChoice choice = library_choice(call);
  if (call.algorithm && *call.algorithm != choice.algorithm) choice = {*call.algorithm, {}};
  return {Clock(call, network).time(choice), choice.algorithm};
}

}  // namespace stepcast
