#include "calibration/importers/astra_sim.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "calibration/importers/astra_cluster.hpp"
#include "calibration/importers/astra_workload.hpp"
#include "calibration/importers/node_entry.hpp"
#include "calibration/importers/text_file.hpp"
#include "models/rank_graph/rank_graph_file.hpp"
#include "models/scenario/scenario.hpp"

namespace stepcast {

namespace {

namespace fs = std::filesystem;

struct ReadFiles {
  std::optional<AstraNetwork> network;
  std::optional<AstraSystem> system;
  std::string network_file, system_file, memory_file, workload_file, workload;
  fs::path workload_path;
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
    if (faults_.empty() && !out_.network)
      faults_.push_back({files.front().string(), "", "no network file is among the files",
                         "name one, as a YAML file with topology, npus_count, bandwidth and latency"});
    if (!faults_.empty()) throw InputError(std::move(faults_));
  }

  [[nodiscard]] const ReadFiles& files() const { return out_; }

 private:
  void read_file(const fs::path& file) {
    Diagnostics diagnostics(file.string());
    if (is_trace(file)) {
      diagnostics.error("", "is a Chakra trace",
                        "stepcast import chakra reads it; name the network and system files here");
    } else {
      const std::string text = read_description(file, diagnostics);
      if (diagnostics.ok()) sort_in(file, text, diagnostics);
    }
    faults_.insert(faults_.end(), diagnostics.faults().begin(), diagnostics.faults().end());
  }

  void sort_in(const fs::path& file, const std::string& text, Diagnostics& diagnostics) {
    if (is_astra_workload(text)) {
      if (once(out_.workload_file, file, "workload", diagnostics)) out_.workload = text, out_.workload_path = file;
      return;
    }
    const Json keys = read_astra_keys(text, diagnostics);
    if (!diagnostics.ok()) return;
    switch (astra_file_kind(keys)) {
      case AstraFile::network:
        if (once(out_.network_file, file, "network", diagnostics)) out_.network = read_astra_network(keys, diagnostics);
        return;
      case AstraFile::system:
        if (once(out_.system_file, file, "system", diagnostics)) out_.system = read_astra_system(keys, diagnostics);
        return;
      case AstraFile::memory:
        static_cast<void>(once(out_.memory_file, file, "memory", diagnostics));
        return;
      case AstraFile::logical:
        diagnostics.error(
            "/logical-dims", "is a logical topology for ns-3, which has no rates",
            "expected a network file of the analytical backends: topology, npus_count, bandwidth, latency");
        return;
      default:
        diagnostics.error("", "is none of ASTRA-sim's network, system, memory and text workload files",
                          "a network has the keys topology, npus_count, bandwidth and latency");
    }
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
  const auto note = [&](std::string_view file, const std::vector<std::string>& unused) {
    if (!unused.empty())
      notes.push_back(fmt::format("of the {} file, these have no counterpart: {}", file, fmt::join(unused, ", ")));
  };
  note("network", files.network->unused);
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

}  // namespace

Imported import_astra_sim(const AstraImport& request, const Catalog& catalog) {
  const AstraReader reader(request.files);
  const ReadFiles& files = reader.files();
  const int npus = files.network->npus();
  Imported out;
  std::string graph;
  if (!files.workload_file.empty()) {
    Diagnostics diagnostics(files.workload_path.string());
    RankGraph step = read_astra_workload(files.workload, npus, files.network->dimensions.front().npus, diagnostics);
    diagnostics.throw_if_faulty();
    step.name = fs::path(files.workload_file).stem().string();
    step.source = "ASTRA-sim workload " + files.workload_file;
    step.notes.emplace_back("compute times are cycles of 1 ns");
    graph = rank_graph_text(step);
  }
  const AstraCluster cluster = cluster_of(*files.network);
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
