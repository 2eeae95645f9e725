#include <CLI/CLI.hpp>
#include <memory>
#include <stdexcept>

#include "calibration/importers/hostlist.hpp"
#include "calibration/importers/slurm_fabric.hpp"
#include "calibration/importers/text_file.hpp"
#include "calibration/importers/wiring.hpp"
#include "cli/import_kinds.hpp"
#include "cli/number_option.hpp"

namespace stepcast {

namespace {

struct SlurmOptions {
  std::string root, hosts, node;
  double nic_Gbps = 0, oversubscription = 1;
};

struct SlurmRequest {
  SlurmFabricHints hints;
  SlurmRack rack;
};

SlurmRequest request_of(const SlurmOptions& options, Session& session) {
  SlurmRequest request;
  SlurmFabricHints& out = request.hints;
  out.root = options.root;
  out.oversubscription = options.oversubscription;
  Diagnostics diagnostics("stepcast import");
  if (!options.hosts.empty()) {
    try {
      out.job_hosts = expand_hostlist(options.hosts);
    } catch (const std::invalid_argument& error) {
      diagnostics.error("--hosts", error.what());
    }
  }
  if (!options.node.empty())
    if (const Node* node = session.catalog().find<Node>(options.node, "--node", diagnostics)) {
      out.nics_per_node = std::max(1, node->training_nics());
      out.nic_bandwidth = node->training_bandwidth() / out.nics_per_node;
      request.rack = {node->id, hosts_of(*node)};
    }
  if (options.nic_Gbps > 0) out.nic_bandwidth = 1_Gbps * options.nic_Gbps;
  diagnostics.throw_if_faulty();
  return request;
}

/// Hosts of the fabric are those of the file, or the racks that these are parts of.
Imported import_fabric(SlurmTopology topology, SlurmRequest request, const std::string& file) {
  if (request.rack.hosts > 1) {
    Diagnostics diagnostics(file);
    request.hints.job_hosts = racks_of_job(topology, request.hints.job_hosts, request.rack, diagnostics);
    topology = racks_as_hosts(std::move(topology), request.rack, diagnostics);
    diagnostics.throw_if_faulty();
  } else if (!topology.blocks.empty() && !topology.is_of_blocks) {
    topology.notes.emplace_back(
        "blocks beside the switches say which hosts share NVLink: --node NODE of a rack, as gb200-nvl72, puts these "
        "together");
  }
  return slurm_fabric(topology, request.hints, file);
}

}  // namespace

ImportAction prepare_slurm_topology(CLI::App& app) {
  auto options = std::make_shared<SlurmOptions>();
  app.add_option("--root", options->root, "Take the hosts below this switch; default: the one with the most")
      ->type_name("SWITCH");
  app.add_option("--hosts", options->hosts, "Hosts of a job in the order of its ranks, as node[1-8,12]; default: all")
      ->type_name("HOSTLIST");
  app.add_option("--node", options->node,
                 "Node of the catalogue that the hosts are, or a block of hosts is (gb200-nvl72)")
      ->type_name("ID");
  app.add_option("--nic-Gbps", options->nic_Gbps, "Rate of each NIC and cable")
      ->check(number_between(0.001, 1e5))
      ->type_name("RATE");
  app.add_option("--oversubscription", options->oversubscription,
                 "Capacity of a switch's down-links over its up-links, which the file does not tell; default 1")
      ->check(number_between(1.0, 1000.0))
      ->type_name("RATIO");
  return [options](Session& session, const ImportRequest& request) {
    const std::filesystem::path& file = request.files.front();
    Diagnostics diagnostics(file.string());
    const std::string text = read_utf8_description(file, diagnostics);
    diagnostics.throw_if_faulty();
    SlurmTopology topology = read_slurm_topology(text, diagnostics);
    diagnostics.throw_if_faulty();
    return import_fabric(std::move(topology), request_of(*options, session), file.string());
  };
}

}  // namespace stepcast
