#include "calibration/importers/onnx/import_onnx.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "calibration/importers/onnx/onnx_network.hpp"
#include "models/workload/operators.hpp"
#include "sim/protocol/exit_code.hpp"
#include "sim/protocol/finished_program.hpp"
#include "sim/protocol/own_program.hpp"

namespace stepcast {

namespace {

constexpr const char* kProgram = "stepcast-onnx-graph";

std::vector<std::string> command(const std::filesystem::path& file, const std::map<std::string, int>& dimensions) {
  std::vector<std::string> words{own_program(kProgram, "STEPCAST_ONNX_GRAPH", "the reader of ONNX").string(),
                                 file.string()};
  for (const auto& [name, size] : dimensions) {
    words.emplace_back("--dim");
    words.push_back(fmt::format("{}={}", name, size));
  }
  return words;
}

Json graph_text(const std::filesystem::path& file, const std::map<std::string, int>& dimensions) {
  const FinishedProgram program = run_program(command(file, dimensions));
  if (program.code == kCannotLoad) throw EnvironmentError("the reader of ONNX cannot start here: " + program.err);
  Json text = Json::parse(program.out, nullptr, false);
  if (program.code == kDone && text.is_object()) return text;
  if (program.code == kBadInput && text.is_object())
    throw InputError({{file.string(), "", text.value("found", ""), "expected " + text.value("expected", "")}});
  throw InputError({{file.string(), "", fmt::format("ONNX's library fails on it ({})", program.code),
                     "a model that onnx.checker accepts"}});
}

/// Keys of a compact network that say something, and those that none may lack.
Json described(const CompactShape& shape) {
  const Json required = CompactShape::fields().schema().at("required");
  const auto is_required = [&](const std::string& key) {
    return std::find(required.begin(), required.end(), Json(key)) != required.end();
  };
  const Json all = CompactShape::fields().write(shape), standard = CompactShape::fields().write(CompactShape{});
  Json out = Json::object();
  for (const auto& [key, value] : all.items())
    if (!standard.contains(key) || standard.at(key) != value || is_required(key)) out[key] = value;
  return out;
}

/// Of what stepcast-onnx-graph prints, `file` in faults; the model is called `id`.
ImportedModel import_graph(const Json& text, const std::string& file, const std::string& id) {
  OnnxNetwork network = count_network(OnnxGraph::from_json(text), file);
  ImportedModel out;
  out.model = {{"id", id},
               {"title", id},
               {"family", "compact"},
               {"compact", described(network.shape)},
               {"sources", {{"compact", fmt::format("counted operator by operator from {}", id + ".onnx")}}}};
  Diagnostics diagnostics(file);
  Model model;
  Model::fields().read(model, out.model, "", diagnostics);
  if (diagnostics.ok()) check_model(model, "", diagnostics);
  diagnostics.throw_if_faulty();
  out.parameters = out.active_parameters = parameter_count(model);
  out.notes = std::move(network.notes);
  return out;
}

}  // namespace

ImportedModel import_onnx(const std::filesystem::path& file, const std::map<std::string, int>& dimensions) {
  return import_graph(graph_text(file, dimensions), file.string(), file.stem().string());
}

}  // namespace stepcast
