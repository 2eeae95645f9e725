#include "calibration/probes/nccl/ranks.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "calibration/probes/common/fault.hpp"

namespace stepcast::probes {
namespace {

constexpr std::size_t kNameBytes = 64;
constexpr std::size_t kScratchBytes = std::size_t{1} << 20;  // host names of 16,384 ranks; 131,072 samples

void set_or_clear(const char* name, const std::string& value) {
  if (value == "auto")
    unsetenv(name);
  else
    setenv(name, value.c_str(), 1);
}

}  // namespace

Ranks::Ranks(const NcclLibrary& nccl, std::vector<std::unique_ptr<CudaDevice>>& devices, const LaunchPlace& place,
             const Rendezvous& rendezvous)
    : nccl_(nccl), place_(place), size_(place.processes * static_cast<int>(devices.size())) {
  for (std::size_t i = 0; i < devices.size(); ++i) {
    local_.push_back(
        {devices[i].get(), place.rank * static_cast<int>(devices.size()) + static_cast<int>(i), devices[i]->stream()});
    scratch_.emplace_back(*devices[i], kScratchBytes);
  }
  NcclId id{};
  if (place.rank == 0) nccl_.require(nccl_.unique_id(&id), "making a communicator's identifier");
  control_ = local_;
  join(control_, shared_id(id, place, rendezvous));
  find_hosts();
  join(local_, next_id());
}

Ranks::~Ranks() {
  leave(local_);
  leave(control_);
}

void Ranks::join(std::vector<LocalRank>& ranks, const NcclId& id) const {
  nccl_.require(nccl_.group_begin(), "joining a communicator");
  for (LocalRank& rank : ranks) {
    rank.device->use();
    nccl_.require(nccl_.join(&rank.communicator, size_, id, rank.rank), "joining a communicator");
  }
  nccl_.require(nccl_.group_end(), "joining a communicator");
}

void Ranks::leave(std::vector<LocalRank>& ranks) const {
  for (LocalRank& rank : ranks)
    if (rank.communicator) static_cast<void>(nccl_.leave(rank.communicator));
  for (LocalRank& rank : ranks) rank.communicator = nullptr;
}

NcclId Ranks::next_id() {
  NcclId id{};
  if (place_.rank == 0) {
    nccl_.require(nccl_.unique_id(&id), "making a communicator's identifier");
    scratch_[0].fill(id.bytes, sizeof id.bytes);
  }
  std::size_t index = 0;
  each(
      control_,
      [&](const LocalRank& rank) {
        void* bytes = scratch_[index++].pointer();
        return nccl_.broadcast(bytes, bytes, sizeof id.bytes, static_cast<int>(NcclType::int8), 0, rank.communicator,
                               rank.stream);
      },
      "sharing a communicator's identifier");
  wait(control_);
  scratch_[0].read(id.bytes, sizeof id.bytes);
  return id;
}

void Ranks::reconnect(const std::string& algorithm, const std::string& protocol) {
  const NcclId id = next_id();
  leave(local_);
  set_or_clear("NCCL_ALGO", algorithm);
  set_or_clear("NCCL_PROTO", protocol);
  join(local_, id);
}

std::vector<LocalRank> Ranks::second() {
  const NcclId id = next_id();
  std::vector<LocalRank> out = local_;
  for (LocalRank& rank : out) {
    rank.device->use();
    rank.stream = rank.device->new_stream();
    rank.communicator = nullptr;
  }
  join(out, id);
  return out;
}

void Ranks::each(const std::vector<LocalRank>& ranks, const std::function<int(const LocalRank&)>& call,
                 const std::string& what) const {
  nccl_.require(nccl_.group_begin(), what);
  int refused = 0;  // thrown after the group's end, since an open group would swallow every later call
  for (const LocalRank& rank : ranks) {
    rank.device->use();
    const int code = call(rank);
    refused = refused ? refused : code;
  }
  const int ended = nccl_.group_end();
  nccl_.require(refused ? refused : ended, what);
}

void Ranks::wait(const std::vector<LocalRank>& ranks) const {
  for (const LocalRank& rank : ranks) {
    rank.device->use();
    rank.device->driver().require(rank.device->driver().call().stream_wait(rank.stream), "waiting for a stream");
  }
}

void Ranks::barrier() {
  std::size_t index = 0;
  each(
      control_,
      [&](const LocalRank& rank) {
        void* bytes = scratch_[index++].pointer();
        return nccl_.all_reduce(bytes, bytes, 1, static_cast<int>(NcclType::float32), kNcclSum, rank.communicator,
                                rank.stream);
      },
      "a barrier");
}

void Ranks::largest(std::vector<double>& values) {
  const std::size_t bytes = values.size() * sizeof(double);
  if (bytes > kScratchBytes) throw bad_input("--samples: more than " + std::to_string(kScratchBytes / sizeof(double)));
  for (const DeviceBuffer& buffer : scratch_) buffer.fill(values.data(), bytes);
  std::size_t index = 0;
  each(
      control_,
      [&](const LocalRank& rank) {
        void* data = scratch_[index++].pointer();
        return nccl_.all_reduce(data, data, values.size(), static_cast<int>(NcclType::float64), kNcclMax,
                                rank.communicator, rank.stream);
      },
      "gathering samples");
  wait(control_);
  scratch_[0].read(values.data(), bytes);
}

void Ranks::find_hosts() {
  char name[kNameBytes] = {};
  gethostname(name, sizeof name - 1);
  for (std::size_t i = 0; i < local_.size(); ++i)
    scratch_[i].fill(name, sizeof name, static_cast<std::size_t>(local_[i].rank) * kNameBytes);
  std::size_t index = 0;
  each(
      control_,
      [&](const LocalRank& rank) {
        char* all = static_cast<char*>(scratch_[index++].pointer());
        return nccl_.all_gather(all + static_cast<std::size_t>(rank.rank) * kNameBytes, all, kNameBytes,
                                static_cast<int>(NcclType::int8), rank.communicator, rank.stream);
      },
      "gathering host names");
  wait(control_);
  std::vector<char> names(static_cast<std::size_t>(size_) * kNameBytes);
  scratch_[0].read(names.data(), names.size());
  std::vector<int> count;
  for (int rank = 0; rank < size_; ++rank) {
    const std::string host = &names[static_cast<std::size_t>(rank) * kNameBytes];
    const auto found = std::find(hosts_.begin(), hosts_.end(), host);
    const auto node = static_cast<std::size_t>(found - hosts_.begin());
    if (found == hosts_.end()) {
      hosts_.push_back(host);
      count.push_back(0);
    }
    node_of_.push_back(static_cast<int>(node));
    place_on_node_.push_back(count[node]++);
  }
  ranks_per_node_ = *std::max_element(count.begin(), count.end());
}

std::string Ranks::name_of(int rank) const {
  const auto index = static_cast<std::size_t>(rank);
  return hosts_[static_cast<std::size_t>(node_of_[index])] + ":gpu" + std::to_string(place_on_node_[index]);
}

}  // namespace stepcast::probes
