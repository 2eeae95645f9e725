#pragma once

#include <optional>

#include "models/scenario/scenario.hpp"

namespace stepcast {

/// Rate of a node's own drives together: the catalogue's figure for the node or its drive's, times what the array's
/// level makes of it (`cluster.local_raid`, else the node's own). Null when the catalogue does not know.
std::optional<BytesPerSecond> local_read_rate(const Scenario& scenario);
std::optional<BytesPerSecond> local_write_rate(const Scenario& scenario);
/// What a node's own drives hold together beside what their array's level keeps twice. Null where nobody says.
std::optional<Bytes> local_capacity(const Scenario& scenario);
/// Random reads per second of a node's own drives together.
std::optional<PerSecond> local_random_reads(const Scenario& scenario);

/// What a node's way to the shared system carries, whatever that can do: NICs for storage, else those for training.
/// Null where it has none.
std::optional<BytesPerSecond> way_to_shared(const Scenario& scenario);

/// Rate of one node's client of the shared system, when no other node uses it: what the system gives a client, over
/// that way. Null without a shared system, or when its rate is not known.
std::optional<BytesPerSecond> shared_read_rate(const Scenario& scenario);
std::optional<BytesPerSecond> shared_write_rate(const Scenario& scenario);

/// The same of so many nodes at once: the least of their sum and the system's own limit.
std::optional<BytesPerSecond> joint_read_rate(const Scenario& scenario, bool local, double nodes);
std::optional<BytesPerSecond> joint_write_rate(const Scenario& scenario, bool local, double nodes);

/// A system that is reached by requests of objects, each at a connection's own pace.
struct ObjectStore {
  BytesPerSecond per_connection;  ///< of one connection, once bytes flow
  Seconds first_byte;             ///< from a request to its first byte
  PerSecond requests;             ///< that it answers; infinite when not known
};
/// Null when the shared system is none.
std::optional<ObjectStore> object_store(const Scenario& scenario);

}  // namespace stepcast
