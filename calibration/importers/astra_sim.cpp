#include "calibration/importers/astra_sim.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "calibration/importers/astra_cluster.hpp"
#include "calibration/importers/astra_ns3.hpp"
#include "calibration/importers/astra_workload.hpp"
#include "calibration/importers/node_entry.hpp"
#include "calibration/importers/text_file.hpp"
#include "models/rank_graph/rank_graph_file.hpp"
#include "models/scenario/scenario.hpp"

namespace stepcast {

namespace {

namespace fs = std::filesystem;

struct ReadFiles {
  std::optional<AstraNetwork> network;  ///< of the analytical backends
  std::optional<Ns3Topology> physical;  ///< of ns-3; a network is one of the two
  std::optional<AstraSystem> system;
  std::vector<int> logical;  ///< dimensions that collectives are split over (ns-3)
  std::string network_file, system_file, memory_file, workload_file, logical_file, groups_file, ns3_file, workload;
  fs::path network_path, workload_path, logical_path;

  [[nodiscard]] int npus() const { return network ? network->npus() : physical->npus(); }
  /// NPUs of the innermost dimension.
  [[nodiscard]] int innermost() const {
    if (network) return network->dimensions.front().npus;
    return logical.empty() ? npus() : logical.front();
  }
};

/// Binary traces are Chakra's; everything else that these files can be is text.
bool is_trace(const fs::path& file) {
  const std::string name = file.filename().string();
  return name.find(".et") != std::string::npos && (file.extension() == ".et" || file.extension() == ".gz");
}

class AstraReader {
 public:
  explicit AstraReader(const std::vector<fs::path>& files) {
    for (const fs::path& file : files) read_file(file);
    if (faults_.empty() && !out_.network && !out_.physical) report_no_network(files.front());
    if (faults_.empty()) check_logical();
    if (!faults_.empty()) throw InputError(std::move(faults_));
  }

  [[nodiscard]] const ReadFiles& files() const { return out_; }

 private:
  void report_no_network(const fs::path& first) {
    if (!out_.logical_file.empty())
      faults_.push_back({out_.logical_path.string(), "/logical-dims",
                         "is a logical topology for ns-3, which has no rates",
                         "name the physical topology beside it (its first line: vertices, switches, links)"});
    else
      faults_.push_back({first.string(), "", "no network file is among the files",
                         "name one, as a YAML file with topology, npus_count, bandwidth and latency, or a physical "
                         "topology of ns-3"});
  }

  void read_file(const fs::path& file) {
    Diagnostics diagnostics(file.string());
    if (is_trace(file)) {
      diagnostics.error("", "is a Chakra trace",
                        "stepcast import chakra reads it; name the network and system files here");
    } else {
      const std::string text = read_utf8_description(file, diagnostics);
      if (diagnostics.ok()) sort_in(file, text, diagnostics);
    }
    faults_.insert(faults_.end(), diagnostics.faults().begin(), diagnostics.faults().end());
  }

  void sort_in(const fs::path& file, const std::string& text, Diagnostics& diagnostics) {
    if (is_astra_workload(text)) {
      if (once(out_.workload_file, file, "workload", diagnostics)) out_.workload = text, out_.workload_path = file;
      return;
    }
    if (is_ns3_topology(text)) {
      if (once(out_.network_file, file, "network", diagnostics)) out_.physical = read_ns3_topology(text, diagnostics);
      out_.network_path = file;
      return;
    }
    if (is_ns3_config(text)) return void(once(out_.ns3_file, file, "ns-3", diagnostics));
    const Json keys = read_astra_keys(text, diagnostics);
    if (!diagnostics.ok()) return;
    switch (astra_file_kind(keys)) {
      case AstraFile::network:
        if (once(out_.network_file, file, "network", diagnostics)) out_.network = read_astra_network(keys, diagnostics);
        out_.network_path = file;
        return;
      case AstraFile::garnet:
        diagnostics.error("", "is a network for Garnet, of packages and routers, which is not read",
                          "expected a network file of the analytical backends: topologies-per-dim, units-count, "
                          "link-bandwidth, link-latency");
        return;
      case AstraFile::system:
        if (once(out_.system_file, file, "system", diagnostics)) out_.system = read_astra_system(keys, diagnostics);
        return;
      case AstraFile::memory:
        static_cast<void>(once(out_.memory_file, file, "memory", diagnostics));
        return;
      case AstraFile::logical:
        if (once(out_.logical_file, file, "logical topology", diagnostics)) read_logical(keys, diagnostics);
        out_.logical_path = file;
        return;
      case AstraFile::groups:
        static_cast<void>(once(out_.groups_file, file, "communicator group", diagnostics));
        return;
      default:
        diagnostics.error("", "is none of ASTRA-sim's network, system, memory and text workload files",
                          "a network has the keys topology, npus_count, bandwidth and latency");
    }
  }

  /// `"logical-dims": ["8", "2"]`
  void read_logical(const Json& keys, Diagnostics& diagnostics) {
    const Json& dimensions = keys.at("logical-dims");
    for (const Json& one : dimensions.is_array() ? dimensions : Json::array({dimensions})) {
      const std::optional<int> npus = whole_number(one.is_string() ? one.get<std::string>() : one.dump());
      if (!npus || *npus < 1)
        return diagnostics.error("/logical-dims", fmt::format("found {}, expected numbers of NPUs", describe(one)));
      out_.logical.push_back(*npus);
    }
  }

  /// A logical topology has no rates: it says how the NPUs of a physical one are numbered, and must be of as many.
  void check_logical() {
    if (out_.logical_file.empty()) return;
    double npus = 1;
    for (const int one : out_.logical) npus *= one;
    if (npus != out_.npus())
      faults_.push_back({out_.logical_path.string(), "/logical-dims",
                         fmt::format("are of {:g} NPUs, but {} has {}", npus, out_.network_file, out_.npus()), ""});
  }

  static bool once(std::string& name, const fs::path& file, const char* what, Diagnostics& diagnostics) {
    if (!name.empty()) diagnostics.error("", fmt::format("a second {} file, beside {}", what, name));
    if (!name.empty()) return false;
    name = file.filename().string();
    return true;
  }

  ReadFiles out_;
  std::vector<Fault> faults_;
};

/// ASTRA-sim's algorithm as Stepcast's; nothing where they have no counterpart or dimensions differ.
std::optional<CollectiveAlgorithm> algorithm_of(const std::string& name) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at <= name.size();) {
    const std::size_t end = std::min(name.find('_', at), name.size());
    words.push_back(name.substr(at, end - at));
    at = end + 1;
  }
  if (!std::all_of(words.begin(), words.end(), [&](const std::string& one) { return one == words.front(); }))
    return std::nullopt;
  const std::string& word = words.front();
  if (word == "ring" || word == "oneRing") return CollectiveAlgorithm::ring;
  if (word == "direct" || word == "oneDirect") return CollectiveAlgorithm::direct;
  if (word == "halvingDoubling" || word == "oneHalvingDoubling") return CollectiveAlgorithm::halving_doubling;
  if (word == "doubleBinaryTree" || word == "oneDoubleBinaryTree") return CollectiveAlgorithm::tree;
  return std::nullopt;
}

/// Memories that differ by a factor below this are alike.
constexpr double kNear = 2;

const Accelerator* accelerator_for(const AstraImport& request, const ReadFiles& files, const Catalog& catalog,
                                   std::vector<std::string>& notes) {
  Diagnostics diagnostics("stepcast import");
  if (!request.accelerator.empty()) {
    const auto* out = catalog.find<Accelerator>(request.accelerator, "--accelerator", diagnostics);
    diagnostics.throw_if_faulty();
    return out;
  }
  constexpr std::string_view kPlain = "a100-sxm-80gb";
  const auto* best = catalog.find<Accelerator>(kPlain, "--accelerator", diagnostics);
  diagnostics.throw_if_faulty();
  const double wanted = files.system ? files.system->local_memory_GBps : 0;
  const auto* plain = best;
  if (wanted > 0)
    for (const std::string& id : catalog.ids("accelerators"))
      if (const auto* one = catalog.find<Accelerator>(id, "", diagnostics))
        if (std::abs(one->memory_bandwidth.in(1_GBps) - wanted) < std::abs(best->memory_bandwidth.in(1_GBps) - wanted))
          best = one;
  // ASTRA-sim's own samples have 50 GB/s, which no accelerator's memory is near.
  const bool near = wanted > 0 && best->memory_bandwidth.in(1_GBps) / wanted < kNear &&
                    wanted / best->memory_bandwidth.in(1_GBps) < kNear;
  if (!near) best = plain;
  const std::string why = near         ? fmt::format(", whose memory is nearest to {:g} GB/s", wanted)
                          : wanted > 0 ? fmt::format(", as no memory is near {:g} GB/s", wanted)
                                       : "";
  notes.push_back(fmt::format("an NPU is taken as {}{}; --accelerator takes another", best->id, why));
  return best;
}

void note_unused(const ReadFiles& files, std::vector<std::string>& notes) {
  if (!files.memory_file.empty()) notes.emplace_back("the remote memory file has no counterpart and was not used");
  if (!files.groups_file.empty())
    notes.emplace_back("communicator groups are those of traces: stepcast import chakra; not used here");
  if (!files.ns3_file.empty()) notes.emplace_back("parameters of ns-3 have no counterpart and were not used");
  if (!files.logical.empty())
    notes.push_back(
        fmt::format("logical dimensions of {} NPUs split ASTRA-sim's collectives; here the collective "
                    "library chooses",
                    fmt::join(files.logical, " × ")));
  const auto note = [&](std::string_view file, const std::vector<std::string>& unused) {
    if (!unused.empty())
      notes.push_back(fmt::format("of the {} file, these have no counterpart: {}", file, fmt::join(unused, ", ")));
  };
  if (files.network) note("network", files.network->unused);
  if (files.system) note("system", files.system->unused);
}

Json scenario_of(const AstraCluster& cluster, const std::string& id, int npus, const ReadFiles& files,
                 std::vector<std::string>& notes) {
  Json place{{"node", id}, {"nodes", cluster.nodes}};
  if (!cluster.fabric.empty()) place["fabric"] = cluster.fabric;
  // A step of data-parallel training stands in for a workload: what runs on the cluster is the graph, or a collective.
  Json out{{"format_version", kScenarioFormatVersion},
           {"name", fmt::format("ASTRA-sim: {}", files.network_file)},
           {"cluster", std::move(place)},
           {"workload", {{"model", "resnet50"}, {"global_batch", 32 * npus}}},
           {"strategy", {{"framework", "pytorch-ddp"}, {"micro_batch", 32}}}};
  notes.emplace_back(
      "the scenario's workload, ResNet-50 with 32 images an NPU, stands in for one: ASTRA-sim's files have none here");
  if (!files.system || files.system->all_reduce.empty()) return out;
  const std::optional<CollectiveAlgorithm> algorithm = algorithm_of(files.system->all_reduce);
  if (algorithm) out["strategy"]["collective_algorithm"] = name_of(*algorithm);
  if (!algorithm)
    notes.push_back(fmt::format("all-reduce by {} has no single counterpart; the library's own choice is taken",
                                files.system->all_reduce));
  if (files.system->all_gather != files.system->all_reduce && !files.system->all_gather.empty())
    notes.emplace_back("one algorithm holds for all collectives: that of all-reduce");
  return out;
}

AstraCluster cluster_of_files(const ReadFiles& files) {
  if (files.network) return cluster_of(*files.network);
  Diagnostics diagnostics(files.network_path.string());
  AstraCluster out = cluster_of(*files.physical, diagnostics);
  diagnostics.throw_if_faulty();
  return out;
}

}  // namespace

Imported import_astra_sim(const AstraImport& request, const Catalog& catalog) {
  const AstraReader reader(request.files);
  const ReadFiles& files = reader.files();
  const int npus = files.npus();
  Imported out;
  std::string graph;
  if (!files.workload_file.empty()) {
    Diagnostics diagnostics(files.workload_path.string());
    RankGraph step = read_astra_workload(files.workload, npus, files.innermost(), diagnostics);
    diagnostics.throw_if_faulty();
    step.name = fs::path(files.workload_file).stem().string();
    step.source = "ASTRA-sim workload " + files.workload_file;
    step.notes.emplace_back("compute times are cycles of 1 ns");
    graph = rank_graph_text(step);
  }
  const AstraCluster cluster = cluster_of_files(files);
  out.notes = cluster.notes;
  const Accelerator* accelerator = accelerator_for(request, files, catalog, out.notes);
  const Json node = node_of(cluster, request.id, *accelerator, "ASTRA-sim network " + files.network_file, catalog);
  out.document = scenario_of(cluster, request.id, npus, files, out.notes);
  note_unused(files, out.notes);
  out.name = "scenario.json";
  out.beside.push_back({fmt::format("nodes/{}.json", request.id), node.dump(2) + "\n"});
  if (!graph.empty()) out.beside.push_back({fmt::format("{}-graph.json", request.id), graph});
  out.summary = fmt::format("scenario of {} NPUs on {} node{}", npus, cluster.nodes, cluster.nodes == 1 ? "" : "s");
  return out;
}

}  // namespace stepcast
