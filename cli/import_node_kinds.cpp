#include <CLI/CLI.hpp>
#include <memory>

#include "cli/import_kinds.hpp"

namespace stepcast {

ImportAction prepare_nccl_topology(CLI::App& /*app*/) {
  return [](Session& /*session*/, const ImportRequest& request) -> Imported {
    throw InputError({{request.files.front().string(), "", "NCCL topologies cannot be read yet", ""}});
  };
}

}  // namespace stepcast
