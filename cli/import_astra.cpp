#include <CLI/CLI.hpp>
#include <memory>

#include "calibration/importers/astra_sim.hpp"
#include "calibration/importers/node_entry.hpp"
#include "cli/import_kinds.hpp"

namespace stepcast {

ImportAction prepare_astra_sim(CLI::App& app) {
  auto options = std::make_shared<AstraImport>();
  app.add_option("--id", options->id,
                 "Id of the node that stands for the network's inside; default: the network's name")
      ->type_name("ID");
  app.add_option("--accelerator", options->accelerator, "What an NPU is (stepcast catalog list accelerators)")
      ->type_name("ID");
  return [options](Session& session, const ImportRequest& request) {
    AstraImport import = *options;
    import.files = request.files;
    import.id = id_of_name(import.id.empty() ? "astra-" + request.files.front().stem().string() : import.id);
    return import_astra_sim(import, session.catalog());
  };
}

}  // namespace stepcast
