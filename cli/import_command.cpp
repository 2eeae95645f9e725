#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/commands.hpp"
#include "cli/import_models.hpp"
#include "cli/output_files.hpp"
#include "models/rank_graph/rank_graph.hpp"

namespace stepcast {

namespace {

/// A study of one cluster has dozens.
constexpr int kMostResults = 1000;

}  // namespace

const std::vector<ImportKind>& import_kinds() {
  static const std::vector<ImportKind> kinds{
      {"nccl-topology", "Node from the XML of NCCL_TOPO_FILE or NCCL_TOPO_DUMP_FILE", "XML file", 1,
       prepare_nccl_topology},
      {"nvidia-smi-topo", "Node from the matrix of nvidia-smi topo -m, or of rocm-smi or amd-smi", "Text file", 1,
       prepare_nvidia_smi_topo},
      {"slurm-topology", "Fabric from Slurm's topology.conf or topology.yaml, or what scontrol show topology prints",
       "topology.conf, or topology.yaml", 1, prepare_slurm_topology},
      {"astra-sim", "Scenario, node and step graph from ASTRA-sim's configuration files",
       "Network, system, memory and text workload files, those of ns-3 and communicator groups, in any order", 7,
       prepare_astra_sim},
      {"chakra", "Step graph from Chakra execution traces, one for each rank", "Traces: name.RANK.et, or .et.gz",
       kMostRanks, prepare_chakra},
      {"huggingface", "Scenario (or model) from a Hugging Face config.json, or a params.json", "config.json", 1,
       prepare_huggingface},
      {"onnx", "Scenario (or model) from an ONNX file, operator by operator", "ONNX file", 1, prepare_onnx},
      {"megatron", "Scenario from Megatron-LM's arguments, or YAML of NeMo and Megatron-Bridge",
       "Argument list, the script that passes it, or YAML", 1, prepare_megatron},
      {"kineto", "Operator timings, and a step graph, from PyTorch profiler traces, one for each rank",
       "Traces: .json, or .json.gz, or their folders", kMostRanks, prepare_kineto},
      {"deepspeed", "Scenario from a DeepSpeed configuration", "JSON file", 1, prepare_deepspeed},
      {"accelerate", "Scenario from a configuration of Hugging Face accelerate", "YAML or JSON file", 1,
       prepare_accelerate},
      {"torchtitan", "Scenario from torchtitan's configuration", "TOML file", 1, prepare_torchtitan},
      {"nccl-tests", "Probe results from the tables or JSON of nccl-tests and rccl-tests",
       "Their output, one a collective", kMostResults, prepare_nccl_tests},
      {"osu", "Probe results from OSU micro-benchmarks", "Their output", kMostResults, prepare_osu},
      {"imb", "Probe results from the Intel MPI Benchmarks", "Their output", kMostResults, prepare_imb},
      {"ucc", "Probe results from ucc_perftest", "Its output", kMostResults, prepare_ucc},
      {"fio", "Probe results from fio's JSON", "fio --output-format=json", kMostResults, prepare_fio},
      {"nvidia-smi", "Probe results from nvidia-smi --query-gpu --format=csv, or dmon", "CSV files", kMostResults,
       prepare_nvidia_smi},
      {"dcgm", "Probe results from dcgmi dmon, CSV of DCGM's fields, or answers of the DCGM exporter",
       "Text or CSV files", kMostResults, prepare_dcgm},
      {"prometheus", "Probe results from a Prometheus query of power, an exporter's answers, or Grafana's CSV",
       "JSON, text or CSV files", kMostResults, prepare_prometheus},
      {"ipmi", "Probe results from ipmitool dcmi power reading, or CSV or JSON of IPMI or Redfish",
       "Text, CSV or JSON files", kMostResults, prepare_ipmi},
  };
  return kinds;
}

namespace {

namespace fs = std::filesystem;

/// A file below a directory, whose folder is made.
fs::path made_below(const fs::path& directory, const std::string& name) {
  fs::path file = directory / name;
  if (file.parent_path().empty()) return file;
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  if (error) throw InputError({{file.parent_path().string(), "", "cannot be made: " + error.message(), ""}});
  return file;
}

/// A directory given as output, or a name with a slash behind it, gets the file under the name that a catalogue expects
/// it by. Several files go to a directory, too, unless the name has a file's extension: what one names is its folder.
fs::path target_of(const fs::path& out, const Imported& imported) {
  std::error_code error;
  const bool of_several = !imported.beside.empty() && !out.has_extension();
  return !out.has_filename() || of_several || fs::is_directory(out, error) ? made_below(out, imported.name) : out;
}

/// Writes files all or none: what was new is taken away where a later one fails.
class WholeWriter {
 public:
  void write(const fs::path& file, const std::string& text) {
    std::error_code error;
    const bool is_new = !fs::exists(file, error);
    write_file(file, text);
    if (is_new) new_.push_back(file);
  }
  void take_back() {
    std::error_code error;
    for (const fs::path& file : new_) fs::remove(file, error);
  }

 private:
  std::vector<fs::path> new_;
};

std::string text_of(const Imported& imported) {
  return imported.text.empty() ? imported.document.dump(2) + "\n" : imported.text;
}

void print_all(Session& session, const Imported& imported) {
  if (imported.beside.empty()) {
    session.print(text_of(imported));
  } else {
    Json all{{imported.name, imported.document}};
    for (const ImportedFile& file : imported.beside) all[file.name] = Json::parse(file.text);
    session.print(all);
  }
  for (const std::string& note : imported.notes) std::fputs(("note: " + note + "\n").c_str(), stderr);
}

/// The first file last: whoever sees it finds what it names.
void finish(Session& session, const ImportRequest& request, const Imported& imported) {
  if (request.out.empty()) return print_all(session, imported);
  const fs::path file = target_of(request.out, imported);
  std::vector<std::string> written{file.string()};
  std::vector<OutputFile> outputs{{"--output", file.string()}};
  for (const ImportedFile& other : imported.beside)
    outputs.push_back({"--output", (file.parent_path() / other.name).string()});
  keep_inputs(outputs, {request.files.begin(), request.files.end()}, session);
  WholeWriter writer;
  try {
    for (const ImportedFile& other : imported.beside) {
      const fs::path path = made_below(file.parent_path(), other.name);
      writer.write(path, other.text);
      written.push_back(path.string());
    }
    writer.write(file, text_of(imported));
  } catch (...) {
    writer.take_back();
    throw;
  }
  if (session.json) return session.print(Json{{"file", file.string()}, {"files", written}, {"notes", imported.notes}});
  std::string text = fmt::format("{}: {}\n", file.string(), imported.summary);
  for (std::size_t i = 1; i < written.size(); ++i) text += "  with " + written[i] + "\n";
  for (const std::string& note : imported.notes) text += "  note: " + note + "\n";
  session.print(text);
}

void add_kind(CLI::App& import, const ImportKind& kind, Session& session) {
  CLI::App* app = import.add_subcommand(std::string(kind.name), std::string(kind.help));
  auto request = std::make_shared<ImportRequest>();
  app->add_option("files", request->files, std::string(kind.files))
      ->required()
      ->expected(1, kind.most_files)
      ->type_name("FILE");
  app->add_option("-o,--output", request->out,
                  "Write this file, whole or not at all; a directory (or NAME/, of several files NAME) gets what is "
                  "written below it. Without: standard output")
      ->type_name("OUT")
      ->check([](const std::string& name) { return name.empty() ? "expected the name of a file" : std::string(); }, "");
  app->callback(
      [action = kind.prepare(*app), request, &session] { finish(session, *request, action(session, *request)); });
}

}  // namespace

void add_import(CLI::App& app, Session& session) {
  CLI::App* import =
      app.add_subcommand("import", "Turn files of other programs into nodes, fabrics, scenarios and graphs");
  import->require_subcommand(1);
  import->fallthrough();
  for (const ImportKind& kind : import_kinds()) add_kind(*import, kind, session);
}

}  // namespace stepcast
