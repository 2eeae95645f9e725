#include "cli/import_models.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <map>
#include <memory>

#include "calibration/importers/models/huggingface.hpp"
#include "calibration/importers/models/imported_scenario.hpp"
#include "calibration/importers/onnx/import_onnx.hpp"
#include "cli/number_option.hpp"
#include "fields/option_fault.hpp"
#include "models/memory/memory.hpp"
#include "models/parallelism/job.hpp"
#include "models/scenario/default_scenario.hpp"
#include "models/workload/operators.hpp"
#include "report/humane.hpp"

namespace stepcast {

namespace {

/// Most nodes that are tried for a model whose user names no number.
constexpr int kMostTriedNodes = 1024;

struct TargetOptions {
  std::string node = "dgx-h100";
  int nodes = 0, seq_len = 0, vocab_size = 0;
  std::string model, model_config, call;
  bool model_only = false;

  [[nodiscard]] ImportTarget target() const {
    ImportTarget out;
    out.node = node;
    out.call = call;
    if (vocab_size > 0) out.vocab_size = vocab_size;
    if (nodes > 0) out.nodes = nodes;
    if (seq_len > 0) out.seq_len = seq_len;
    return out;
  }
};

std::shared_ptr<TargetOptions> add_cluster_options(CLI::App& app) {
  auto options = std::make_shared<TargetOptions>();
  app.add_option("--node", options->node, "Node that it is to run on; default dgx-h100")->type_name("ID");
  app.add_option("--nodes", options->nodes, "How many nodes; default: what the file says or needs")
      ->check(whole_number(1, 1000000))
      ->type_name("K");
  return options;
}

void add_model_only(CLI::App& app, TargetOptions& options) {
  app.add_flag("--model-only", options.model_only, "Write the model alone, as workload.model takes it");
}

std::shared_ptr<TargetOptions> add_target_options(CLI::App& app) {
  auto options = add_cluster_options(app);
  app.add_option("--seq-len", options->seq_len, "Tokens of a sequence that a step trains on")
      ->check(whole_number(1, 67108864))
      ->type_name("N");
  return options;
}

bool fits(const Json& document, const Catalog& catalog) {
  const Scenario scenario = resolve(document, "imported", {}, catalog);
  return memory_of(lower(scenario)).fits;
}

/// A scenario of the model by the rules of default_scenario, on the fewest nodes (a power of two) that hold it.
Json scenario_of(const Json& model, const TargetOptions& options, const Catalog& catalog,
                 std::vector<std::string>& notes) {
  const auto on_nodes = [&](int nodes) {
    return completed_scenario(scenario_without_strategy(model, options.node, nodes), "default scenario", catalog);
  };
  if (options.nodes > 0) return on_nodes(options.nodes);
  for (int nodes = 1; nodes <= kMostTriedNodes; nodes *= 2) {
    Json scenario = on_nodes(nodes);
    if (!fits(scenario, catalog)) continue;
    notes.push_back(
        fmt::format("{} × {}: the fewest (a power of two) that hold it (--node, --nodes)", nodes, options.node));
    return scenario;
  }
  return on_nodes(kMostTriedNodes);
}

/// "671 G parameters, 37.6 G active": the latter are those that one token uses, where they are fewer.
std::string parameters_in_words(double all, double active) {
  const std::string of_token = active < 0.999 * all ? fmt::format(", {} active", humane_count(active)) : "";
  return fmt::format("{} parameters{}", humane_count(all), of_token);
}

std::string summary_of(const Json& scenario, const Catalog& catalog) {
  const Scenario resolved = resolve(scenario, "imported", {}, catalog);
  return fmt::format("scenario, {} on {} × {}",
                     parameters_in_words(parameter_count(*resolved.model), active_parameter_count(*resolved.model)),
                     resolved.spec.cluster.nodes, resolved.node->id);
}

std::string file_name(std::string id) {
  for (char& c : id)
    if (c == '/' || c == ' ') c = '-';
  return id + ".json";
}

Imported imported(ImportedModel model, const TargetOptions& options, const Catalog& catalog) {
  Imported out;
  out.notes = std::move(model.notes);
  out.name = file_name(model.model.at("id").get<std::string>());
  if (options.model_only) {
    out.summary = fmt::format("model, {}", parameters_in_words(model.parameters, model.active_parameters));
    out.document = std::move(model.model);
  } else {
    out.document = scenario_of(model.model, options, catalog, out.notes);
    out.summary = summary_of(out.document, catalog);
  }
  return out;
}

/// NAME=N of each option.
std::map<std::string, int> sizes_by_name(const std::vector<std::string>& options) {
  std::map<std::string, int> sizes;
  for (const std::string& option : options) {
    const std::size_t sign = option.rfind('=');
    const std::string number = sign == std::string::npos ? "" : option.substr(sign + 1);
    int size = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), size);
    if (number.empty() || error != std::errc{} || end != number.data() + number.size() || size < 1)
      refuse_option("--dim", fmt::format("found {}", Json(option).dump()), "expected NAME=N, a whole number from 1");
    sizes[option.substr(0, sign)] = size;
  }
  return sizes;
}

}  // namespace

ImportAction prepare_huggingface(CLI::App& app) {
  auto options = add_target_options(app);
  add_model_only(app, *options);
  return [options](Session& session, const ImportRequest& request) {
    return imported(import_huggingface(request.files.front(), options->target().seq_len), *options, session.catalog());
  };
}

ImportAction prepare_onnx(CLI::App& app) {
  auto options = add_cluster_options(app);
  add_model_only(app, *options);
  auto dimensions = std::make_shared<std::vector<std::string>>();
  app.add_option("--dim", *dimensions, "A size that an input leaves open, not samples: seq_len=512 (repeatable)")
      ->type_name("NAME=N");
  return [options, dimensions](Session& session, const ImportRequest& request) {
    return imported(import_onnx(request.files.front(), sizes_by_name(*dimensions)), *options, session.catalog());
  };
}

namespace {

Imported imported(ImportedScenario from, const ImportRequest& request, const Catalog& catalog) {
  Imported out;
  out.summary = summary_of(from.scenario, catalog);
  out.document = std::move(from.scenario);
  out.name = request.files.front().stem().string() + ".json";
  out.notes = std::move(from.notes);
  return out;
}

}  // namespace

ImportAction prepare_megatron(CLI::App& app) {
  auto options = add_target_options(app);
  app.add_option("--vocab-size", options->vocab_size, "Tokens of the vocabulary, where the file does not say")
      ->check(whole_number(1, 1 << 30))
      ->type_name("N");
  app.add_option(
         "--call", options->call,
         "What a script is called with, in quotes: NAME=VALUE ..., then its arguments; other variables are empty")
      ->type_name("TEXT");
  return [options](Session& session, const ImportRequest& request) {
    return imported(import_megatron(request.files.front(), options->target(), session.catalog()), request,
                    session.catalog());
  };
}

namespace {

using ScenarioImporter = ImportedScenario (*)(const std::filesystem::path&, const ImportTarget&, const Catalog&);

/// Imports of files that say how and not what is trained.
ImportAction with_model(CLI::App& app, ScenarioImporter import) {
  auto options = add_target_options(app);
  auto* model =
      app.add_option("--model", options->model, "Model that it trains (stepcast models list)")->type_name("ID");
  app.add_option("--model-config", options->model_config, "The same by its Hugging Face config.json")
      ->excludes(model)
      ->type_name("FILE");
  return [options, import](Session& session, const ImportRequest& request) {
    ImportTarget target = options->target();
    std::vector<std::string> notes;
    if (!options->model.empty()) target.model = options->model;
    if (!options->model_config.empty()) {
      ImportedModel described = import_huggingface(options->model_config, target.seq_len);
      target.model = std::move(described.model);
      notes = std::move(described.notes);
    }
    Imported out = imported(import(request.files.front(), target, session.catalog()), request, session.catalog());
    out.notes.insert(out.notes.end(), notes.begin(), notes.end());
    return out;
  };
}

}  // namespace

ImportAction prepare_deepspeed(CLI::App& app) {
  return with_model(app, static_cast<ScenarioImporter>(import_deepspeed));
}
ImportAction prepare_accelerate(CLI::App& app) { return with_model(app, import_accelerate); }
ImportAction prepare_torchtitan(CLI::App& app) { return with_model(app, import_torchtitan); }

}  // namespace stepcast
