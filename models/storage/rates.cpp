#include "models/storage/rates.hpp"

#include <algorithm>
#include <limits>

#include "models/storage/raid.hpp"

namespace stepcast {

namespace {

// An object store whose figures are not known is like the one that is best documented (storage s3-standard).
constexpr double kConnectionMBps = 87.5;  // 85–90
constexpr double kFirstByteMs = 150;      // 100–200

int raid_level(const Scenario& scenario) {
  const int own = scenario.node->local_storage ? scenario.node->local_storage->raid : 0;
  return scenario.spec.cluster.local_raid.value_or(own);
}

/// What the node's own figure for its drives rests on becomes another level's by the ratio of the factors.
std::optional<BytesPerSecond> local_rate(const Scenario& scenario, std::optional<BytesPerSecond> LocalStorage::*stated,
                                         std::optional<BytesPerSecond> StoragePart::*of_drive,
                                         double RaidFactors::*factor) {
  const auto& local = scenario.node->local_storage;
  if (!local) return std::nullopt;
  const double wanted = raid_factors(raid_level(scenario), local->count).*factor;
  if ((*local).*stated) return *((*local).*stated) * (wanted / (raid_factors(local->raid, local->count).*factor));
  if (scenario.local_drive && scenario.local_drive->*of_drive) return *(scenario.local_drive->*of_drive) * wanted;
  return std::nullopt;
}

BytesPerSecond nics(const Node& node, bool training) {
  BytesPerSecond sum;
  for (const Nic& nic : node.nics)
    if (nic.training == training) sum += nic.bandwidth * nic.count;
  return sum;
}

std::optional<BytesPerSecond> shared_rate(const Scenario& scenario, std::optional<BytesPerSecond> StoragePart::*client,
                                          std::optional<BytesPerSecond> StoragePart::*aggregate) {
  const StoragePart* system = scenario.storage;
  if (system == nullptr) return std::nullopt;
  // A system whose clients' rate is not known gives one of them all it has.
  std::optional<BytesPerSecond> rate = system->*client ? system->*client : system->*aggregate;
  if (!rate) return std::nullopt;
  const std::optional<BytesPerSecond> way = way_to_shared(scenario);
  return way ? std::min(*rate, *way) : rate;
}

std::optional<BytesPerSecond> of_nodes(double nodes, std::optional<BytesPerSecond> node,
                                       std::optional<BytesPerSecond> limit) {
  if (!node) return std::nullopt;
  const BytesPerSecond sum = *node * nodes;
  return limit ? std::min(sum, *limit) : sum;
}

double figure(const StoragePart& part, const char* name, double otherwise) {
  const auto found = part.figures.find(name);
  return found == part.figures.end() ? otherwise : found->second;
}

/// Middle of a figure that is given from low to high.
double middle(const StoragePart& part, const std::string& name, double otherwise) {
  const double low = figure(part, (name + "_low").c_str(), otherwise);
  return (low + figure(part, (name + "_high").c_str(), low)) / 2;
}

}  // namespace

std::optional<BytesPerSecond> local_read_rate(const Scenario& scenario) {
  return local_rate(scenario, &LocalStorage::read_GBps, &StoragePart::read, &RaidFactors::read);
}

std::optional<BytesPerSecond> local_write_rate(const Scenario& scenario) {
  return local_rate(scenario, &LocalStorage::write_GBps, &StoragePart::write, &RaidFactors::write);
}

std::optional<Bytes> local_capacity(const Scenario& scenario) {
  const auto& local = scenario.node->local_storage;
  if (!local || !(local->capacity > Bytes(0))) return std::nullopt;
  // Whole stripes are written at the rate of the drives that hold data.
  return local->capacity * raid_factors(raid_level(scenario), local->count).write;
}

std::optional<PerSecond> local_random_reads(const Scenario& scenario) {
  const auto& local = scenario.node->local_storage;
  if (!local || !scenario.local_drive || !scenario.local_drive->random_read) return std::nullopt;
  return *scenario.local_drive->random_read * raid_factors(raid_level(scenario), local->count).random_read;
}

std::optional<BytesPerSecond> way_to_shared(const Scenario& scenario) {
  const BytesPerSecond own = nics(*scenario.node, false);
  const BytesPerSecond way = own > BytesPerSecond(0) ? own : nics(*scenario.node, true);
  return way > BytesPerSecond(0) ? std::optional(way) : std::nullopt;
}

std::optional<BytesPerSecond> shared_read_rate(const Scenario& scenario) {
  return shared_rate(scenario, &StoragePart::read, &StoragePart::aggregate_read);
}

std::optional<BytesPerSecond> shared_write_rate(const Scenario& scenario) {
  return shared_rate(scenario, &StoragePart::write, &StoragePart::aggregate_write);
}

std::optional<BytesPerSecond> joint_read_rate(const Scenario& scenario, bool local, double nodes) {
  if (local) return of_nodes(nodes, local_read_rate(scenario), std::nullopt);
  return scenario.storage ? of_nodes(nodes, shared_read_rate(scenario), scenario.storage->aggregate_read)
                          : std::nullopt;
}

std::optional<BytesPerSecond> joint_write_rate(const Scenario& scenario, bool local, double nodes) {
  if (local) return of_nodes(nodes, local_write_rate(scenario), std::nullopt);
  return scenario.storage ? of_nodes(nodes, shared_write_rate(scenario), scenario.storage->aggregate_write)
                          : std::nullopt;
}

std::optional<ObjectStore> object_store(const Scenario& scenario) {
  if (scenario.storage == nullptr || scenario.storage->kind != "object store") return std::nullopt;
  const StoragePart& part = *scenario.storage;
  ObjectStore out;
  out.per_connection = 1_MBps * middle(part, "per_connection_MBps", kConnectionMBps);
  out.first_byte = 1_ms * middle(part, "first_byte_ms", kFirstByteMs);
  double requests = std::numeric_limits<double>::infinity();
  for (const char* name :
       {"get_per_s_per_prefix", "get_per_s", "initial_read_per_s_per_bucket", "requests_per_s_per_account"})
    requests = std::min(requests, figure(part, name, requests));
  out.requests = PerSecond(requests);
  return out;
}

}  // namespace stepcast
