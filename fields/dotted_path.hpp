#pragma once

#include <string>

namespace stepcast {

/// The path of a key below a path, as `--set` takes it: `workload.model`; the key alone where the path is empty.
std::string dotted_path(const std::string& path, const std::string& key);

}  // namespace stepcast
