#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>

#include "calibration/importers/onnx/program/inferred_model.hpp"
#include "calibration/importers/onnx/program/tied_weights.hpp"

// Prints an ONNX file's operators, and the sizes of what goes between them, as JSON. Exit code 2 with an object of
// "found" and "expected" where the file is not usable.
namespace {

using nlohmann::json;
using stepcast::onnx_graph::BadModel, stepcast::onnx_graph::Dimensions;

constexpr int kDone = 0, kBadInput = 2;

bool is_real(int type) {
  using ::onnx::TensorProto;
  return type == TensorProto::FLOAT || type == TensorProto::FLOAT16 || type == TensorProto::BFLOAT16 ||
         type == TensorProto::DOUBLE;
}

template <typename Sizes>
json whole(const Sizes& sizes) {
  json out = json::array();
  for (const auto& size : sizes) out.push_back(size);
  return out;
}

/// Of a value: null sizes are unknown.
json value_text(const onnx::ValueInfoProto& value) {
  const auto& type = value.type().tensor_type();
  json sizes = json::array();
  for (const auto& size : type.shape().dim())
    sizes.push_back(size.has_dim_value() ? json(size.dim_value()) : json(nullptr));
  return {{"sizes", type.has_shape() ? sizes : json(nullptr)}, {"real", is_real(type.elem_type())}};
}

json tensor_text(const onnx::TensorProto& tensor, const char* kind) {
  return {{"sizes", whole(tensor.dims())}, {"real", is_real(tensor.data_type())}, {"kind", kind}};
}

json attributes_text(const onnx::NodeProto& node) {
  json out = json::object();
  for (const auto& attribute : node.attribute()) {
    if (attribute.type() == onnx::AttributeProto::INT) out[attribute.name()] = attribute.i();
    if (attribute.type() == onnx::AttributeProto::INTS) out[attribute.name()] = whole(attribute.ints());
    if (attribute.type() == onnx::AttributeProto::STRING) out[attribute.name()] = attribute.s();
  }
  return out;
}

json node_text(const onnx::NodeProto& node) {
  return {{"operator", node.op_type()},
          {"name", node.name()},
          {"inputs", whole(node.input())},
          {"outputs", whole(node.output())},
          {"attributes", attributes_text(node)}};
}

bool is_constant(const json& value) {
  const std::string kind = value.value("kind", "");
  return kind == "constant" || (kind == "weight" && !value.at("real").get<bool>());
}

/// Whether an operator takes nothing but constants, so that what it gives is as constant.
bool gives_constants(const onnx::NodeProto& node, const json& values) {
  const auto constant = [&](const std::string& input) {
    return input.empty() || (values.contains(input) && is_constant(values.at(input)));
  };
  return node.input_size() > 0 && std::all_of(node.input().begin(), node.input().end(), constant);
}

json graph_text(const onnx::GraphProto& graph, const std::filesystem::path& folder) {
  json values = json::object(), inputs = json::array(), nodes = json::array();
  for (const auto& value : graph.value_info()) values[value.name()] = value_text(value);
  for (const auto& value : graph.output()) values[value.name()] = value_text(value);
  for (const auto& value : graph.input()) values[value.name()] = value_text(value);
  for (const auto& tensor : graph.initializer()) values[tensor.name()] = tensor_text(tensor, "weight");
  for (const auto& [name, other] : stepcast::onnx_graph::tied_weights(graph, folder)) values[name]["tied_to"] = other;
  for (const auto& value : graph.input())
    if (!values[value.name()].contains("kind")) inputs.push_back(value.name());
  for (const auto& node : graph.node()) {
    if (gives_constants(node, values)) {
      for (const std::string& output : node.output())
        if (values.contains(output)) values[output]["kind"] = "constant";
      continue;
    }
    if (node.op_type() != "Constant") {
      nodes.push_back(node_text(node));
      continue;
    }
    const bool tensor = node.attribute_size() == 1 && node.attribute(0).has_t();
    values[node.output(0)] = tensor ? tensor_text(node.attribute(0).t(), "constant")
                                    : json{{"sizes", json::array()}, {"real", true}, {"kind", "constant"}};
  }
  return {{"inputs", inputs}, {"values", values}, {"nodes", nodes}};
}

void print(const json& text) {
  const std::string line = text.dump(-1, ' ', true, json::error_handler_t::replace);
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fputc('\n', stdout);
}

/// NAME=N behind --dim.
bool read_dimension(std::string_view word, Dimensions& dimensions) {
  const std::size_t sign = word.rfind('=');
  if (sign == std::string_view::npos) return false;
  std::int64_t size = 0;
  const auto [end, error] = std::from_chars(word.data() + sign + 1, word.data() + word.size(), size);
  if (error != std::errc{} || end != word.data() + word.size() || size < 1) return false;
  dimensions[std::string(word.substr(0, sign))] = size;
  return true;
}

int usage() {
  std::fputs("usage: stepcast-onnx-graph FILE [--dim NAME=N]...\nPrints an ONNX file's operators and sizes as JSON.\n",
             stderr);
  return kBadInput;
}

}  // namespace

int main(int count, char** words) {
  if (count < 2 || count % 2 != 0) return usage();
  Dimensions dimensions;
  for (int i = 2; i < count; i += 2)
    if (std::string_view(words[i]) != "--dim" || !read_dimension(words[i + 1], dimensions)) return usage();
  try {
    const std::filesystem::path folder = std::filesystem::path(words[1]).parent_path();
    print(graph_text(stepcast::onnx_graph::inferred_model(words[1], dimensions).graph(), folder));
  } catch (const BadModel& fault) {
    print({{"found", fault.what()}, {"expected", fault.expected()}});
    return kBadInput;
  }
  return kDone;
}
