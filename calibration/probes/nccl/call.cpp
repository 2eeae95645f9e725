#include <algorithm>
#include <array>
#include <functional>

#include "calibration/probes/common/fault.hpp"
#include "calibration/probes/nccl/collectives.hpp"

namespace stepcast::probes {
namespace {

// Small whole numbers: their sums are exact in float32 whatever the order.
constexpr std::size_t kPattern = 13;
float datum(std::size_t rank, std::size_t element) { return static_cast<float>((rank * 7 + element) % kPattern); }

struct Op {
  const char* name;
  bool shares, in_place, out_of_place;
};
constexpr std::array kOps{Op{"all_reduce", false, true, true},    Op{"all_gather", true, true, true},
                          Op{"reduce_scatter", true, true, true}, Op{"broadcast", false, true, true},
                          Op{"reduce", false, true, true},        Op{"all_to_all", true, false, true},
                          Op{"send_recv", false, false, true}};

const Op& op_named(const std::string& name) {
  return *std::find_if(kOps.begin(), kOps.end(), [&](const Op& op) { return name == op.name; });
}

constexpr std::size_t kPiece = std::size_t{1} << 20;  // elements moved between host and device at once
constexpr std::size_t kCheckedWhole = std::size_t{1}
                                      << 26;  // 256 MiB; of more, the first and the last piece are checked

void fill_range(const DeviceBuffer& buffer, std::size_t begin, std::size_t count,
                const std::function<float(std::size_t)>& value) {
  std::vector<float> piece(std::min(count, kPiece));
  for (std::size_t done = 0; done < count; done += piece.size()) {
    piece.resize(std::min(kPiece, count - done));
    for (std::size_t i = 0; i < piece.size(); ++i) piece[i] = value(begin + done + i);
    buffer.fill(piece.data(), piece.size() * sizeof(float), (begin + done) * sizeof(float));
  }
}

}  // namespace

std::vector<std::string> nccl_collectives() {
  std::vector<std::string> out;
  out.reserve(kOps.size());
  for (const Op& op : kOps) out.emplace_back(op.name);
  return out;
}

bool NcclCall::has_place(const std::string& op, bool in_place) {
  return in_place ? op_named(op).in_place : op_named(op).out_of_place;
}

NcclCall::NcclCall(const Ranks& ranks, const std::string& op, std::int64_t size_bytes, bool in_place)
    : ranks_(ranks), op_(op), in_place_(in_place) {
  const std::size_t unit = op_named(op).shares ? static_cast<std::size_t>(ranks.size()) : 1;
  count_ = std::max<std::size_t>(static_cast<std::size_t>(size_bytes) / sizeof(float) / unit, 1) * unit;
  share_ = count_ / unit;
  for (const LocalRank& rank : ranks.local()) {
    input_.emplace_back(*rank.device, count_ * sizeof(float));
    if (!in_place) output_.emplace_back(*rank.device, count_ * sizeof(float));
  }
}

std::int64_t NcclCall::size_bytes() const { return static_cast<std::int64_t>(count_ * sizeof(float)); }

void NcclCall::fill() const {
  for (std::size_t i = 0; i < input_.size(); ++i) {
    const auto me = static_cast<std::size_t>(ranks_.local()[i].rank);
    if (op_ == "all_gather") {
      // In place the share lies where it will be; else at the beginning, with the values of its place.
      const std::size_t begin = in_place_ ? me * share_ : 0;
      fill_range(input_[i], begin, share_, [&](std::size_t at) { return datum(me, me * share_ + at - begin); });
    } else {
      fill_range(input_[i], 0, count_, [&](std::size_t at) { return datum(me, at); });
    }
  }
}

void NcclCall::run(const std::vector<LocalRank>& ranks) const {
  std::size_t index = 0;
  ranks_.each(
      ranks, [&](const LocalRank& rank) { return run_one(rank, index++); }, op_);
}

int NcclCall::run_one(const LocalRank& rank, std::size_t index) const {
  const NcclLibrary& nccl = ranks_.nccl();
  constexpr int kFloat = static_cast<int>(NcclType::float32);
  auto* in = static_cast<float*>(input_[index].pointer());
  float* out = in_place_ ? in : static_cast<float*>(output_[index].pointer());
  const auto me = static_cast<std::size_t>(rank.rank);
  if (op_ == "all_reduce") return nccl.all_reduce(in, out, count_, kFloat, kNcclSum, rank.communicator, rank.stream);
  if (op_ == "all_gather")
    return nccl.all_gather(in_place_ ? in + me * share_ : in, out, share_, kFloat, rank.communicator, rank.stream);
  if (op_ == "reduce_scatter")
    return nccl.reduce_scatter(in, in_place_ ? in + me * share_ : out, share_, kFloat, kNcclSum, rank.communicator,
                               rank.stream);
  if (op_ == "broadcast") return nccl.broadcast(in, out, count_, kFloat, 0, rank.communicator, rank.stream);
  if (op_ == "reduce") return nccl.reduce(in, out, count_, kFloat, kNcclSum, 0, rank.communicator, rank.stream);
  int code = 0;
  const auto keep = [&](int next) { code = code ? code : next; };
  if (op_ == "all_to_all") {
    for (int peer = 0; peer < ranks_.size(); ++peer) {
      keep(nccl.send(in + static_cast<std::size_t>(peer) * share_, share_, kFloat, peer, rank.communicator,
                     rank.stream));
      keep(nccl.receive(out + static_cast<std::size_t>(peer) * share_, share_, kFloat, peer, rank.communicator,
                        rank.stream));
    }
  } else {
    keep(nccl.send(in, count_, kFloat, (rank.rank + 1) % ranks_.size(), rank.communicator, rank.stream));
    keep(nccl.receive(out, count_, kFloat, (rank.rank + ranks_.size() - 1) % ranks_.size(), rank.communicator,
                      rank.stream));
  }
  return code;
}

void NcclCall::require_right() const {
  const auto size = static_cast<std::size_t>(ranks_.size());
  std::array<float, kPattern> sums{};
  for (std::size_t i = 0; i < kPattern; ++i)
    for (std::size_t rank = 0; rank < size; ++rank) sums[i] += datum(rank, i);
  for (std::size_t index = 0; index < input_.size(); ++index) {
    const auto me = static_cast<std::size_t>(ranks_.local()[index].rank);
    if (op_ == "reduce" && me != 0) continue;
    std::size_t begin = 0, length = count_;
    std::function<float(std::size_t)> expected = [&](std::size_t at) { return sums[at % kPattern]; };
    if (op_ == "all_gather") expected = [&](std::size_t at) { return datum(at / share_, at); };
    if (op_ == "broadcast") expected = [](std::size_t at) { return datum(0, at); };
    if (op_ == "all_to_all") expected = [&](std::size_t at) { return datum(at / share_, me * share_ + at % share_); };
    if (op_ == "send_recv") expected = [&](std::size_t at) { return datum((me + size - 1) % size, at); };
    if (op_ == "reduce_scatter") {
      length = share_;
      if (in_place_) begin = me * share_;
      expected = [&, begin](std::size_t at) { return sums[(me * share_ + at - begin) % kPattern]; };
    }
    const DeviceBuffer& result = in_place_ ? input_[index] : output_[index];
    std::vector<float> piece(std::min(length, kPiece));
    for (std::size_t done = 0; done < length; done += piece.size()) {
      if (length > kCheckedWhole && done > 0 && done + kPiece < length) continue;
      piece.resize(std::min(kPiece, length - done));
      result.read(piece.data(), piece.size() * sizeof(float), (begin + done) * sizeof(float));
      for (std::size_t i = 0; i < piece.size(); ++i)
        if (const std::size_t at = begin + done + i; piece[i] != expected(at))
          throw check_failed(op_ + " of " + std::to_string(size_bytes()) + " B: wrong data on rank " +
                             std::to_string(me) + " (" + ranks_.name_of(static_cast<int>(me)) + "): element " +
                             std::to_string(at) + " is " + std::to_string(piece[i]) + ", expected " +
                             std::to_string(expected(at)));
    }
  }
}

}  // namespace stepcast::probes
