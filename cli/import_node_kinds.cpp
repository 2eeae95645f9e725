#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "calibration/importers/nccl_topology.hpp"
#include "calibration/importers/node_entry.hpp"
#include "calibration/importers/nvidia_smi_topo.hpp"
#include "calibration/importers/text_file.hpp"
#include "cli/import_kinds.hpp"
#include "cli/number_option.hpp"

namespace stepcast {

namespace {

struct NodeOptions {
  std::string id, accelerator, like;
  double nic_Gbps = 0;
};

std::shared_ptr<NodeOptions> add_node_options(CLI::App& app) {
  auto options = std::make_shared<NodeOptions>();
  app.add_option("--id", options->id, "Id of the node; default: the name of the file written, or read")
      ->type_name("ID");
  app.add_option("--accelerator", options->accelerator, "Which accelerator it has (stepcast catalog list accelerators)")
      ->type_name("ID");
  app.add_option("--like", options->like,
                 "Node of the catalogue for what the file does not tell, as host memory; default: the nearest")
      ->type_name("ID");
  app.add_option("--nic-Gbps", options->nic_Gbps, "Rate of each NIC whose rate is not told")
      ->check(number_between(0.001, 1e5))
      ->type_name("RATE");
  return options;
}

/// An entry's id is its file's name, so the file that is written names it.
std::string id_of(const NodeOptions& options, const ImportRequest& request) {
  if (!options.id.empty()) return id_of_name(options.id);
  std::error_code error;
  const bool named =
      !request.out.empty() && !std::filesystem::is_directory(request.out, error) && request.out.extension() == ".json";
  return id_of_name((named ? request.out : request.files.front()).stem().string());
}

using WiringReader = Wiring (*)(std::string_view, Diagnostics&);

Imported import_node(Session& session, const ImportRequest& request, const NodeOptions& options, WiringReader read,
                     std::string_view what) {
  const std::filesystem::path& file = request.files.front();
  Diagnostics diagnostics(file.string());
  const std::string text = read_utf8_description(file, diagnostics);
  diagnostics.throw_if_faulty();
  Wiring wiring = read(text, diagnostics);
  diagnostics.throw_if_faulty();
  wiring.source = fmt::format("{} {}", what, file.filename().string());
  NodeHints hints{id_of(options, request), options.accelerator, options.like, std::nullopt};
  if (options.nic_Gbps > 0) hints.nic_bandwidth = 1_Gbps * options.nic_Gbps;
  return node_entry(wiring, hints, file.string(), session.catalog());
}

}  // namespace

ImportAction prepare_nccl_topology(CLI::App& app) {
  return [options = add_node_options(app)](Session& session, const ImportRequest& request) {
    return import_node(session, request, *options, read_nccl_topology, "NCCL topology");
  };
}

ImportAction prepare_nvidia_smi_topo(CLI::App& app) {
  return [options = add_node_options(app)](Session& session, const ImportRequest& request) {
    return import_node(session, request, *options, read_smi_topo, "topology matrix");
  };
}

}  // namespace stepcast
