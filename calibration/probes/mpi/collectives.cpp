#include "calibration/probes/mpi/collectives.hpp"

#include <algorithm>
#include <functional>
#include <limits>

#include "calibration/probes/common/fault.hpp"

namespace stepcast::probes {
namespace {

// Small whole numbers, so that sums of them are exact in float32 up to 2^24 / 12 ranks whatever the order.
constexpr int kPattern = 13;
float datum(std::size_t rank, std::size_t element) { return static_cast<float>((rank * 7 + element) % kPattern); }

/// One call's buffers: floats, of which every rank contributes a share to some collectives.
struct Call {
  const World* world;
  std::size_t count;  ///< elements of the larger buffer, a multiple of the ranks where shares are equal
  std::size_t share;  ///< elements of one rank's share
  bool in_place;
  std::vector<float> input, output;
  std::vector<int> shares;  ///< of MPI_Reduce_scatter

  [[nodiscard]] int whole() const { return static_cast<int>(count); }
  [[nodiscard]] int part() const { return static_cast<int>(share); }
  [[nodiscard]] std::size_t me() const { return static_cast<std::size_t>(world->rank); }
  [[nodiscard]] std::size_t ranks() const { return static_cast<std::size_t>(world->ranks); }
  float* out() { return in_place ? input.data() : output.data(); }
};

float sum_over_ranks(const Call& call, std::size_t element) {
  float sum = 0;
  for (std::size_t rank = 0; rank < call.ranks(); ++rank) sum += datum(rank, element);
  return sum;
}

/// Sums repeat with the pattern, so a few are enough for a buffer of any size.
std::vector<float> sums(const Call& call) {
  std::vector<float> out(kPattern);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = sum_over_ranks(call, i);
  return out;
}

struct Collective {
  const char* name;
  bool shares;         ///< every rank has an equal share of `count`
  bool synchronizing;  ///< no rank can end before every rank has begun
  bool in_place, out_of_place;
  std::function<void(Call&)> fill, run;
  /// Where the result lies on this rank, how long it is, and what must be in it.
  std::function<const float*(Call&)> result;
  std::function<std::size_t(const Call&)> length;
  std::function<std::function<float(std::size_t)>(const Call&)> expected;
};

void fill_own(Call& call) {
  for (std::size_t i = 0; i < call.count; ++i) call.input[i] = datum(call.me(), i);
}

/// The share that this rank contributes to an all_gather: alone, or at its place in the whole buffer.
void fill_share(Call& call) {
  float* begin = call.input.data() + (call.in_place ? call.me() * call.share : 0);
  for (std::size_t i = 0; i < call.share; ++i) begin[i] = datum(call.me(), call.me() * call.share + i);
}

std::function<float(std::size_t)> expect_sums(const Call& call) {
  return [table = sums(call)](std::size_t i) { return table[i % kPattern]; };
}

const std::vector<Collective>& collectives() {
  const auto all = [](const Call& call) { return call.count; };
  const auto share = [](const Call& call) { return call.share; };
  const auto output = [](Call& call) -> const float* { return call.out(); };
  static const std::vector<Collective> table{
      {"all_reduce", false, true, true, true, fill_own,
       [](Call& c) {
         MPI_Allreduce(c.in_place ? MPI_IN_PLACE : c.input.data(), c.out(), c.whole(), MPI_FLOAT, MPI_SUM,
                       MPI_COMM_WORLD);
       },
       output, all, expect_sums},
      {"all_gather", true, true, true, true, fill_share,
       [](Call& c) {
         MPI_Allgather(c.in_place ? MPI_IN_PLACE : c.input.data(), c.part(), MPI_FLOAT, c.out(), c.part(), MPI_FLOAT,
                       MPI_COMM_WORLD);
       },
       output, all,
       [](const Call& c) -> std::function<float(std::size_t)> {
         return [share = c.share](std::size_t i) { return datum(i / share, i); };
       }},
      {"reduce_scatter", true, true, true, true, fill_own,
       [](Call& c) {
         MPI_Reduce_scatter(c.in_place ? MPI_IN_PLACE : c.input.data(), c.out(), c.shares.data(), MPI_FLOAT, MPI_SUM,
                            MPI_COMM_WORLD);
       },
       output, share,
       [](const Call& c) -> std::function<float(std::size_t)> {
         return [table = sums(c), begin = c.me() * c.share](std::size_t i) { return table[(begin + i) % kPattern]; };
       }},
      {"broadcast", false, false, true, false,
       [](Call& c) {
         for (std::size_t i = 0; i < c.count; ++i) c.input[i] = c.world->first() ? datum(0, i) : -1.0F;
       },
       [](Call& c) { MPI_Bcast(c.input.data(), c.whole(), MPI_FLOAT, 0, MPI_COMM_WORLD); }, output, all,
       [](const Call&) -> std::function<float(std::size_t)> { return [](std::size_t i) { return datum(0, i); }; }},
      {"reduce", false, false, true, true, fill_own,
       [](Call& c) {
         const bool here = c.in_place && c.world->first();
         MPI_Reduce(here ? MPI_IN_PLACE : c.input.data(), c.out(), c.whole(), MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD);
       },
       output, [](const Call& c) { return c.world->first() ? c.count : 0; }, expect_sums},
      {"all_to_all", true, true, true, true, fill_own,
       [](Call& c) {
         MPI_Alltoall(c.in_place ? MPI_IN_PLACE : c.input.data(), c.part(), MPI_FLOAT, c.out(), c.part(), MPI_FLOAT,
                      MPI_COMM_WORLD);
       },
       output, all,
       [](const Call& c) -> std::function<float(std::size_t)> {
         return [share = c.share, me = c.me()](std::size_t i) { return datum(i / share, me * share + i % share); };
       }},
      {"send_recv", false, true, false, true, fill_own,
       [](Call& c) {
         const int next = (c.world->rank + 1) % c.world->ranks;
         const int previous = (c.world->rank + c.world->ranks - 1) % c.world->ranks;
         MPI_Sendrecv(c.input.data(), c.whole(), MPI_FLOAT, next, 0, c.output.data(), c.whole(), MPI_FLOAT, previous, 0,
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE);
       },
       output, all,
       [](const Call& c) -> std::function<float(std::size_t)> {
         return [from = (c.me() + c.ranks() - 1) % c.ranks()](std::size_t i) { return datum(from, i); };
       }}};
  return table;
}

const Collective& collective_named(const std::string& name) {
  return *std::find_if(collectives().begin(), collectives().end(), [&](const Collective& c) { return name == c.name; });
}

Call prepared(const World& world, const Collective& collective, std::size_t count, bool in_place) {
  Call call{&world, count, collective.shares ? count / static_cast<std::size_t>(world.ranks) : count, in_place, {},
            {},     {}};
  call.input.assign(count, -1.0F);
  if (!in_place) call.output.assign(count, -1.0F);
  call.shares.assign(static_cast<std::size_t>(world.ranks), call.part());
  collective.fill(call);
  return call;
}

/// Compares what one call gave; every rank throws nothing or ends the program, so none waits for another.
void require_right(const Collective& collective, Call& call) {
  const auto expected = collective.expected(call);
  const float* result = collective.result(call);
  const std::size_t length = collective.length(call);
  for (std::size_t i = 0; i < length; ++i)
    if (result[i] != expected(i))
      throw check_failed(std::string(collective.name) + " of " + std::to_string(call.count * sizeof(float)) +
                         " B: wrong data on rank " + std::to_string(call.world->rank) + " (" +
                         call.world->hosts[static_cast<std::size_t>(call.world->node_of[call.me()])] + "): element " +
                         std::to_string(i) + " is " + std::to_string(result[i]) + ", expected " +
                         std::to_string(expected(i)));
}

void probe_one(const World& world, const Measuring& measuring, const Collective& collective, std::size_t count,
               bool in_place, const std::string& algorithm, ResultFile& file) {
  Call call = prepared(world, collective, count, in_place);
  collective.run(call);
  require_right(collective, call);
  const Measured measured = measure(world, measuring, collective.synchronizing, [&] { collective.run(call); });
  if (!world.first()) return;
  Json row{{"kind", "collective"},
           {"op", collective.name},
           {"size_bytes", count * sizeof(float)},
           {"ranks", world.ranks},
           {"nodes", world.nodes},
           {"ranks_per_node", world.ranks_per_node},
           {"in_place", in_place},
           {"algorithm", algorithm},
           {"protocol", "auto"},
           {"data_type", "float32"},
           {"samples_us", samples_json(measured.samples_us)}};
  if (measured.calls_per_sample > 1) row["calls_per_sample"] = measured.calls_per_sample;
  row["across_ranks"] = "max";
  row["checked"] = true;
  file.add(std::move(row));
}

/// Elements of each asked size, shares made whole; sizes that come out equal are taken once.
std::vector<std::size_t> counts_of(const std::vector<std::int64_t>& sizes, const Collective& collective, int ranks) {
  std::vector<std::size_t> out;
  const std::size_t unit = collective.shares ? static_cast<std::size_t>(ranks) : 1;
  for (const std::int64_t size : sizes) {
    const std::size_t count = std::max<std::size_t>(static_cast<std::size_t>(size) / sizeof(float) / unit, 1) * unit;
    if (out.empty() || out.back() != count) out.push_back(count);
  }
  return out;
}

}  // namespace

std::vector<std::string> mpi_collectives() {
  std::vector<std::string> out;
  for (const Collective& collective : collectives()) out.emplace_back(collective.name);
  return out;
}

void probe_collectives(const World& world, const Measuring& measuring, const CollectiveRequest& request,
                       ResultFile& file) {
  for (const std::string& op : request.ops) {
    const Collective& collective = collective_named(op);
    for (const std::size_t count : counts_of(request.sizes, collective, world.ranks)) {
      if (count > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
        if (world.first()) file.warn(op + ": more than 2^31 elements do not fit MPI's counts; left out");
        break;
      }
      // What can be called in one way only is measured in that way.
      if (collective.out_of_place && (request.out_of_place || !collective.in_place))
        probe_one(world, measuring, collective, count, false, request.algorithm, file);
      if (collective.in_place && (request.in_place || !collective.out_of_place))
        probe_one(world, measuring, collective, count, true, request.algorithm, file);
    }
  }
}

}  // namespace stepcast::probes
