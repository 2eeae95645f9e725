// NCCL in host memory, for tests. Ranks of one process or of several meet in shared memory; timings are made up and
// known.
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "calibration/probes/stand_in/clock.hpp"
#include "calibration/probes/stand_in/faults.hpp"

using namespace stepcast::stand_in;

namespace {

constexpr int kMostRanks = 16;
constexpr std::size_t kSlot = std::size_t{16} << 20;
constexpr double kRingStart_us = 10, kBusBytesPerUs = 100'000;  // ring: 10 µs and 100 GB/s
constexpr double kTreeStart_us = 6, kTreeBusBytesPerUs = 80'000;
constexpr double kQuickStart_us = 4, kQuickShare = 0.5;  // protocol LL: of the bus bandwidth
constexpr double kMessageStart_us = 5, kMessageBytesPerUs = 50'000;
constexpr int kSlow = 4;  // so many times slower is what a fault makes slow

/// What ranks share: a slot for each, whether they are threads of one process or processes.
struct World {
  std::atomic<long> joined, arrived;
  std::atomic<long> sent[kMostRanks][kMostRanks], received[kMostRanks][kMostRanks];
  char slots[kMostRanks][kSlot];
};

struct Communicator {
  World* world;
  int rank, size;
  long generation = 0;
  bool tree, refused, quick;
};

struct Operation {
  enum Kind { all_reduce, all_gather, reduce_scatter, broadcast, reduce, send, receive } kind;
  const char* input;
  char* output;
  std::size_t count, width;
  int type, sum_or_max, peer;
  Communicator* communicator;
  Stream* stream;
  [[nodiscard]] std::size_t bytes() const { return count * width; }
};

thread_local int depth = 0;
thread_local std::vector<Operation> group;

std::size_t width_of(int type) {
  constexpr std::size_t kWidths[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  return kWidths[type];
}

void wait_until(const std::function<bool()>& done) {
  while (!done()) sched_yield();
}

template <typename Number>
void combine(char* into, const char* other, std::size_t count, bool largest) {
  auto* a = reinterpret_cast<Number*>(into);
  const auto* b = reinterpret_cast<const Number*>(other);
  for (std::size_t i = 0; i < count; ++i) a[i] = largest ? std::max(a[i], b[i]) : a[i] + b[i];
}

/// The sum (or maximum) over all slots of a part of them.
std::vector<char> combined(const Operation& op, std::size_t begin, std::size_t count) {
  std::vector<char> out(count * op.width);
  for (int rank = 0; rank < op.communicator->size; ++rank) {
    const char* part = op.communicator->world->slots[rank] + begin * op.width;
    if (rank == 0)
      std::memcpy(out.data(), part, out.size());
    else if (op.type == 8)
      combine<double>(out.data(), part, count, op.sum_or_max == 2);
    else
      combine<float>(out.data(), part, count, op.sum_or_max == 2);
  }
  return out;
}

double time_of(const Operation& op) {
  const Communicator& c = *op.communicator;
  const int slow = setting("slow", -1);
  if (op.kind == Operation::send || op.kind == Operation::receive)
    return kMessageStart_us +
           static_cast<double>(op.bytes()) / kMessageBytesPerUs * (c.rank == slow || op.peer == slow ? kSlow : 1);
  const double n = c.size;
  const bool shares = op.kind == Operation::all_gather || op.kind == Operation::reduce_scatter;
  const double bytes = static_cast<double>(op.bytes()) * (shares ? n : 1);
  const double factor = op.kind == Operation::all_reduce ? 2 * (n - 1) / n : shares ? (n - 1) / n : 1;
  const double rate = (c.tree ? kTreeBusBytesPerUs : kBusBytesPerUs) / (slow >= 0 ? kSlow : 1);
  if (c.quick) return kQuickStart_us + bytes * factor / (rate * kQuickShare);
  return (c.tree ? kTreeStart_us : kRingStart_us) + bytes * factor / rate;
}

/// Every rank of the world has come this far.
void meet(const std::vector<Operation*>& ops) {
  for (Operation* op : ops) {
    op->communicator->world->arrived.fetch_add(1);
    ++op->communicator->generation;
  }
  for (Operation* op : ops)
    wait_until([op] {
      return op->communicator->world->arrived.load() >= op->communicator->generation * op->communicator->size;
    });
}

void take_result(const Operation& op) {
  const Communicator& c = *op.communicator;
  World& world = *c.world;
  if (op.kind == Operation::all_gather)
    for (int rank = 0; rank < c.size; ++rank)
      std::memcpy(op.output + static_cast<std::size_t>(rank) * op.bytes(), world.slots[rank], op.bytes());
  if (op.kind == Operation::broadcast) std::memcpy(op.output, world.slots[op.peer], op.bytes());
  if (op.kind == Operation::reduce_scatter) {
    const std::vector<char> sum = combined(op, static_cast<std::size_t>(c.rank) * op.count, op.count);
    std::memcpy(op.output, sum.data(), sum.size());
  }
  if (op.kind == Operation::all_reduce || (op.kind == Operation::reduce && c.rank == op.peer)) {
    const std::vector<char> sum = combined(op, 0, op.count);
    std::memcpy(op.output, sum.data(), sum.size());
    if (setting("wrong_data", 0) && c.rank == 1 && op.count > 3 && op.type == 7)
      reinterpret_cast<float*>(op.output)[3] += 1;
  }
}

void run_collectives(const std::vector<Operation*>& ops) {
  for (const Operation* op : ops) {
    const std::size_t share =
        op->kind == Operation::reduce_scatter ? static_cast<std::size_t>(op->communicator->size) : 1;
    std::memcpy(op->communicator->world->slots[op->communicator->rank], op->input, op->bytes() * share);
  }
  meet(ops);
  for (const Operation* op : ops) take_result(*op);
  meet(ops);
  double start = 0;
  for (const Operation* op : ops) start = std::max(start, start_on(*op->stream));
  for (const Operation* op : ops) advance(*op->stream, start, time_of(*op));
}

/// Messages lie in the sender's slot, one part for each receiver; the next waits until the last is taken.
void run_messages(const std::vector<Operation*>& ops) {
  const auto part = [](World& world, int from, int to) {
    return world.slots[from] + static_cast<std::size_t>(to) * (kSlot / kMostRanks);
  };
  for (const Operation* op : ops) {
    if (op->kind != Operation::send) continue;
    World& world = *op->communicator->world;
    const int from = op->communicator->rank, to = op->peer;
    wait_until([&] { return world.sent[from][to] == world.received[from][to]; });
    std::memcpy(part(world, from, to), op->input, op->bytes());
    ++world.sent[from][to];
  }
  for (const Operation* op : ops) {
    if (op->kind != Operation::receive) continue;
    World& world = *op->communicator->world;
    const int from = op->peer, to = op->communicator->rank;
    wait_until([&] { return world.sent[from][to] > world.received[from][to]; });
    std::memcpy(op->output, part(world, from, to), op->bytes());
    ++world.received[from][to];
  }
  // All messages of a rank in a group run at once: it is busy for the sum of what it receives, or of what it sends.
  std::vector<std::pair<Stream*, std::pair<double, double>>> busy;
  for (const Operation* op : ops) {
    auto found = std::find_if(busy.begin(), busy.end(), [&](const auto& one) { return one.first == op->stream; });
    if (found == busy.end()) found = busy.insert(busy.end(), {op->stream, {0, 0}});
    (op->kind == Operation::send ? found->second.first : found->second.second) += time_of(*op);
  }
  double start = 0;
  for (const auto& [stream, both] : busy) start = std::max(start, start_on(*stream));
  for (const auto& [stream, both] : busy) advance(*stream, start, std::max(both.first, both.second));
}

int run_group() {
  std::vector<Operation> ops;
  ops.swap(group);
  std::vector<Operation*> collectives, messages;
  for (Operation& op : ops) {
    if (op.communicator->refused) return 5;
    (op.kind == Operation::send || op.kind == Operation::receive ? messages : collectives).push_back(&op);
  }
  if (!collectives.empty()) run_collectives(collectives);
  if (!messages.empty()) run_messages(messages);
  return 0;
}

int enqueue(Operation::Kind kind, const void* in, void* out, std::size_t count, int type, int op, int peer,
            void* communicator, void* stream) {
  group.push_back({kind, static_cast<const char*>(in), static_cast<char*>(out), count, width_of(type), type, op, peer,
                   static_cast<Communicator*>(communicator), static_cast<Stream*>(stream)});
  return depth > 0 ? 0 : run_group();
}

bool asked(const char* variable, const std::string& value) {
  const char* text = std::getenv(variable);
  return text && value == text;
}

}  // namespace

extern "C" {

struct ncclUniqueId {
  char internal[128];
};

int ncclGetVersion(int* version) { return *version = setting("old_nccl", 0) ? 2408 : 22803, 0; }
const char* ncclGetErrorString(int code) { return code == 5 ? "invalid usage" : "unhandled error"; }
const char* ncclGetLastError(void*) { return "no algorithm for this operation"; }
int ncclGetUniqueId(ncclUniqueId* id) {
  static int count = 0;
  std::memset(id, 0, sizeof *id);
  std::snprintf(id->internal, sizeof id->internal, "/stepcast-stand-in-%d-%d", getpid(), count++);
  return 0;
}
int ncclCommInitRank(void** communicator, int size, ncclUniqueId id, int rank) {
  const int file = shm_open(id.internal, O_RDWR | O_CREAT, 0600);
  if (file < 0 || size > kMostRanks || ftruncate(file, sizeof(World)) != 0) return 2;
  void* memory = mmap(nullptr, sizeof(World), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (static_cast<World*>(memory)->joined.fetch_add(1) + 1 == size) shm_unlink(id.internal);  // all have it
  auto* made = new Communicator{
      static_cast<World*>(memory), rank, size, 0, asked("NCCL_ALGO", "tree"), asked("NCCL_ALGO", "nvls"),
      asked("NCCL_PROTO", "ll")};
  *communicator = made;
  return 0;
}
int ncclCommDestroy(void* communicator) {
  auto* made = static_cast<Communicator*>(communicator);
  munmap(made->world, sizeof(World));
  delete made;
  return 0;
}
int ncclGroupStart() { return ++depth, 0; }
int ncclGroupEnd() { return --depth > 0 ? 0 : run_group(); }
int ncclAllReduce(const void* in, void* out, std::size_t count, int type, int op, void* c, void* s) {
  return enqueue(Operation::all_reduce, in, out, count, type, op, 0, c, s);
}
int ncclAllGather(const void* in, void* out, std::size_t count, int type, void* c, void* s) {
  return enqueue(Operation::all_gather, in, out, count, type, 0, 0, c, s);
}
int ncclReduceScatter(const void* in, void* out, std::size_t count, int type, int op, void* c, void* s) {
  return enqueue(Operation::reduce_scatter, in, out, count, type, op, 0, c, s);
}
int ncclBroadcast(const void* in, void* out, std::size_t count, int type, int root, void* c, void* s) {
  return enqueue(Operation::broadcast, in, out, count, type, 0, root, c, s);
}
int ncclReduce(const void* in, void* out, std::size_t count, int type, int op, int root, void* c, void* s) {
  return enqueue(Operation::reduce, in, out, count, type, op, root, c, s);
}
#ifndef STAND_IN_INCOMPLETE
int ncclSend(const void* in, std::size_t count, int type, int peer, void* c, void* s) {
  return enqueue(Operation::send, in, nullptr, count, type, 0, peer, c, s);
}
#endif
int ncclRecv(void* out, std::size_t count, int type, int peer, void* c, void* s) {
  return enqueue(Operation::receive, nullptr, out, count, type, 0, peer, c, s);
}
}
