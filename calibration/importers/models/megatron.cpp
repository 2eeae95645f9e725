#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "calibration/importers/models/config_reader.hpp"
#include "calibration/importers/models/imported_scenario.hpp"
#include "calibration/importers/models/megatron_names.hpp"
#include "calibration/importers/models/megatron_nodes.hpp"
#include "calibration/importers/models/megatron_strategy.hpp"
#include "calibration/importers/models/megatron_unread.hpp"
#include "calibration/importers/models/megatron_yaml.hpp"
#include "calibration/importers/text_file.hpp"
#include "models/scenario/scenario.hpp"

namespace stepcast {

namespace {

class MegatronReader {
 public:
  /// `passed_over`: whether an option that nobody asked for needs no word.
  MegatronReader(std::string_view text, const ImportTarget& target, const Catalog& catalog, Diagnostics& diagnostics,
                 bool (*passed_over)(std::string_view))
      : in_(text, target, diagnostics), target_(target), catalog_(catalog), passed_over_(passed_over) {}

  ImportedScenario read(const std::string& name) {
    if (in_.list.empty()) {
      in_.diagnostics.error("", "found no option that begins with --", "a list of Megatron-LM's arguments");
      return {};
    }
    model_ = read_megatron_model(in_);
    strategy_ = read_megatron_strategy(in_, model_);
    batch();
    cluster();
    return finish(name);
  }

 private:
  void batch() {
    // Without a global batch every replica takes one micro-batch a step, as many as the cluster turns out to hold.
    if (in_.list.has("--global-batch-size") || !(in_.list.has("--micro-batch-size") || in_.list.has("--batch-size")))
      workload_["global_batch"] = in_.required("--global-batch-size");
    // --batch-size is a micro-batch's name of before 2021.
    strategy_["micro_batch"] = in_.first_of({"--micro-batch-size", "--batch-size"}).value_or(1);
    workload_["seq_len"] = target_.seq_len.value_or(model_.length);
    if (in_.list.has("--fp4-format"))
      workload_["precision"] = "fp4";
    else if (in_.list.has("--fp8-format") || in_.list.has("--fp8-hybrid") || in_.list.has("--fp8-e4m3") ||
             in_.list.has("--fp8-recipe"))
      workload_["precision"] = eight_bit();
    else
      workload_["precision"] = in_.list.has("--fp16") ? "fp16" : in_.list.has("--bf16") ? "bf16" : "fp32";
    for (const char* option :
         {"--fp16", "--bf16", "--fp8-recipe", "--fp8-hybrid", "--fp8-margin", "--fp8-interval", "--fp4-recipe",
          "--fp8-amax-history-len", "--fp8-amax-compute-algo", "--fp8-param-gather"})
      in_.list.ignore(option);
  }

  std::string eight_bit() {
    in_.choice("--fp8-format", {"e4m3", "hybrid"});
    const std::string recipe = in_.choice("--fp8-recipe", {"tensorwise", "delayed", "mxfp8", "blockwise", "custom"});
    return recipe == "mxfp8" ? "mxfp8" : "fp8";
  }

  /// What depends on how many devices there are.
  void batch_of(long devices) {
    if (!workload_.contains("global_batch")) {
      const long replicas =
          std::max(1L, devices / (static_cast<long>(in_.degrees.tp) * in_.degrees.pp * in_.degrees.cp));
      workload_["global_batch"] = replicas * strategy_["micro_batch"].get<int>();
      in_.notes.push_back(
          fmt::format("no --global-batch-size: {} × {} replicas", strategy_["micro_batch"].get<int>(), replicas));
    }
    const auto samples = length_of_training("--train-samples"), steps = length_of_training("--train-iters");
    if (samples) workload_["samples"] = *samples;
    const double batch = workload_["global_batch"].get<double>();
    if (!samples && steps && batch > 0) workload_["samples"] = *steps * batch;
  }

  /// Nothing, with a note, where the script does not come to a number: a step does not depend on it.
  std::optional<double> length_of_training(const std::string& option) {
    if (!in_.list.has(option) || !is_unknown(in_.list.text(option))) return in_.list.number(option);
    in_.notes.push_back(fmt::format("{}: found {}, not used", option, shown(in_.list.text(option))));
    return std::nullopt;
  }

  /// Parameters are cut within so many instances apart: a group of shards is what the replicas leave for each.
  void instances(long devices) {
    if (strategy_["sharding"] != "fsdp") return;
    const int instances = in_.list.whole("--num-distributed-optimizer-instances").value_or(1);
    const long replicas = devices / (static_cast<long>(in_.degrees.tp) * in_.degrees.pp);
    if (instances <= 1) return;
    if (replicas % instances != 0)
      in_.diagnostics.error("", fmt::format("--num-distributed-optimizer-instances {} does not divide the {} data- and "
                                            "context-parallel ranks",
                                            instances, replicas));
    strategy_["sharding"] = "hsdp";
    strategy_["hsdp_shard_size"] = replicas / instances;
  }

  void cluster() {
    const Node* node = catalog_.find<Node>(target_.node, "/cluster/node", in_.diagnostics);
    if (!node) return;
    // Experts are dealt out within the ranks of a pipeline stage, over whole ones (docs/models/parallelism.md).
    const auto [tp, pp, cp, ep] = in_.degrees;
    const long stage = static_cast<long>(tp) * cp, experts = ep * strategy_.value("expert_tensor_parallel", tp);
    const long unit = pp * (ep > 1 ? std::lcm(stage, experts) : stage);
    const MegatronNodes nodes = megatron_nodes(in_, target_, *node, unit, catalog_);
    cluster_ = {{"node", nodes.kind->id}, {"nodes", nodes.count}};
    const long devices = static_cast<long>(nodes.count) * std::max(1, nodes.kind->devices());
    batch_of(devices);
    instances(devices);
  }

  void note_unmodelled(const std::string& option, std::string_view effect) {
    const std::string value = fmt::format("{}", fmt::join(in_.list.values(option), " "));
    const bool off = value == "0" || value == "null" || value == "None" || value == "false" || value == "False";
    if (!off) in_.notes.push_back(fmt::format("{}{}{}: {}", option, value.empty() ? "" : " ", value, effect));
  }

  ImportedScenario finish(const std::string& name) {
    in_.list.refuse_misspelt();
    std::vector<std::string> unknown;
    for (const std::string& option : in_.list.unknown())
      if (const std::string_view effect = effect_of_unmodelled_option(option); !effect.empty())
        note_unmodelled(option, effect);
      else if (!passed_over_(option))
        unknown.push_back(option);
    refuse_unread_sizes(in_, unknown);
    if (const std::string note = unknown_note(unknown); !note.empty()) in_.notes.push_back(note);
    for (std::string& note : in_.list.notes()) in_.notes.push_back(std::move(note));
    const int vocab = model_.shape["vocab"].get<int>();
    workload_["model"] = {{"id", name},
                          {"family", model_.family},
                          {"transformer", model_.shape},
                          {"default_seq_len", std::max(1, model_.length)},
                          {"sample_kB", std::max(1, model_.length) * (vocab <= 65536 ? 2 : 4) / 1000.0},
                          {"sources", {{"transformer", "Megatron-LM arguments of " + name}}}};
    return {{{"format_version", kScenarioFormatVersion},
             {"name", name},
             {"description", "Imported from Megatron-LM's arguments"},
             {"cluster", cluster_},
             {"workload", workload_},
             {"strategy", strategy_}},
            std::move(in_.notes)};
  }

  MegatronArguments in_;
  const ImportTarget& target_;
  const Catalog& catalog_;
  bool (*passed_over_)(std::string_view);
  MegatronModel model_;
  Json strategy_, workload_ = Json::object(), cluster_;
};

/// `read -a NAME <file`: an array of a file's words, in which neither quotes nor patterns mean anything.
struct ReadArray {
  std::string name, file;
  bool whole = false;  ///< `-d ''`: of all lines, else of the first
};

/// A name beside the script: what a variable of the script holds before the first slash is taken for its folder.
std::string beside_script(std::string_view word) {
  std::string name(word);
  std::erase(name, '"');
  if (!name.starts_with('$')) return name;
  const std::size_t slash = name.find('/');
  return slash == std::string::npos ? name : name.substr(slash + 1);
}

std::optional<ReadArray> array_read_by(std::string_view line) {
  const std::vector<std::string_view> words = words_of(line);
  ReadArray out;
  if (words.empty() || words[0] != "read") return std::nullopt;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const bool last = i + 1 == words.size();
    if (words[i] == "-d" && !last) out.whole = words[i + 1] == "''" || words[i + 1] == "\"\"";
    const bool option = words[i].starts_with('-') && !words[i].starts_with("--");
    if (option && words[i].ends_with('a') && !last) out.name = words[i + 1];
    if (words[i].starts_with('<') && !words[i].starts_with("<<") && !words[i].starts_with("<("))
      out.file = beside_script(words[i].size() > 1 || last ? words[i].substr(1) : words[i + 1]);
  }
  const bool known = !out.name.empty() && !out.file.empty() && out.file.find('$') == std::string::npos;
  return known ? std::optional(std::move(out)) : std::nullopt;
}

/// `NAME=('word' …)`
std::string array_of(const ReadArray& array, std::string_view text) {
  std::string out = array.name + "=(";
  for (const std::string_view line : lines_of(text)) {
    for (const std::string_view word : words_of(line)) out += fmt::format("'{}' ", word);
    if (!array.whole) break;
  }
  return out + ")\n";
}

/// A script with the arrays that it reads from files beside it, as those that `plan` writes do. What cannot be read is
/// left as it is, and said in `unread`: it need not be the arguments.
std::string with_arrays_read(const std::string& script, const std::filesystem::path& folder,
                             std::vector<std::string>& unread) {
  std::string out;
  for (const std::string_view line : lines_of(script)) {
    const std::optional<ReadArray> array = array_read_by(line);
    Diagnostics of_file("");
    const std::string text = array ? read_description(folder / array->file, of_file) : std::string();
    for (const Fault& fault : of_file.faults())
      unread.push_back(fmt::format("{} is read from {}: {}", array->name, array->file, fault.message));
    out += array && of_file.faults().empty() ? array_of(*array, text) : std::string(line) + "\n";
  }
  return out;
}

bool passed_over_of_yaml(std::string_view option) {
  return is_harmless_megatron_option(option) || is_harmless_megatron_yaml_option(option);
}

}  // namespace

ImportedScenario import_megatron(const std::filesystem::path& file, const ImportTarget& target,
                                 const Catalog& catalog) {
  Diagnostics diagnostics(file.string());
  std::string text = read_description(file, diagnostics);
  diagnostics.throw_if_faulty();
  std::vector<std::string> notes;
  const bool yaml = is_megatron_yaml(text);
  std::vector<std::string> unread;
  text = yaml ? arguments_of_yaml(text, target.call, notes, diagnostics)
              : with_arrays_read(text, file.parent_path(), unread);
  diagnostics.throw_if_faulty();
  ImportedScenario out =
      MegatronReader(text, target, catalog, diagnostics, yaml ? passed_over_of_yaml : is_harmless_megatron_option)
          .read(file.stem().string());
  for (const std::string& words : unread) {
    if (diagnostics.faults().empty())
      notes.push_back(words + "; not used");
    else
      diagnostics.error("", words, "the file beside the script");
  }
  diagnostics.throw_if_faulty();
  out.notes.insert(out.notes.begin(), notes.begin(), notes.end());
  resolve(out.scenario, file.string(), {}, catalog);  // its faults are the list's
  return out;
}

}  // namespace stepcast
