#pragma once

#include "models/updates/server_run.hpp"

namespace stepcast {

/// Workers and servers of a scenario that has parameter servers: ports, shards, and what a server's processors can add.
/// Throws InputError, without a file, when servers lie on other nodes and no network leads there.
ServerJob server_job(const Job& job, const WorkerStep& step);

}  // namespace stepcast
