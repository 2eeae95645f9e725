#include "calibration/importers/onnx/program/inferred_model.hpp"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <onnx/shape_inference/implementation.h>

#include <cstring>
#include <fstream>
#include <limits>
#include <set>

#include "calibration/importers/onnx/program/folded_sizes.hpp"

namespace stepcast::onnx_graph {

BadModel::BadModel(const std::string& what, std::string expected)
    : std::runtime_error(what), expected_(std::move(expected)) {}

namespace {

using ::onnx::GraphProto, ::onnx::ModelProto, ::onnx::NodeProto, ::onnx::TensorProto;

ModelProto parsed(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw BadModel("cannot be read", "a file that exists and can be read");
  google::protobuf::io::IstreamInputStream raw(&stream);
  google::protobuf::io::CodedInputStream input(&raw);
  input.SetTotalBytesLimit(std::numeric_limits<int>::max());
  ModelProto model;
  if (!model.ParseFromCodedStream(&input) || !model.has_graph() || model.graph().node_size() == 0)
    throw BadModel("is no ONNX model", "what torch.onnx.export or tf2onnx writes");
  return model;
}

std::set<std::string> initializers(const GraphProto& graph) {
  std::set<std::string> names;
  for (const TensorProto& tensor : graph.initializer()) names.insert(tensor.name());
  return names;
}

/// Sets the open sizes of what goes in.
void set_sizes(ModelProto& model, const Dimensions& dimensions) {
  const std::set<std::string> weights = initializers(model.graph());
  std::set<std::string> used;
  for (auto& input : *model.mutable_graph()->mutable_input()) {
    if (weights.count(input.name()) > 0 || !input.type().has_tensor_type()) continue;
    auto& shape = *input.mutable_type()->mutable_tensor_type()->mutable_shape();
    for (int i = 0; i < shape.dim_size(); ++i) {
      auto& size = *shape.mutable_dim(i);
      if (size.has_dim_value()) continue;
      const std::string name = size.dim_param();
      const auto given = dimensions.find(name);
      if (given == dimensions.end() && i > 0)
        throw BadModel("input \"" + input.name() + "\" leaves its size \"" + name + "\" open",
                       "--dim " + (name.empty() ? "NAME" : name) + "=N");
      size.set_dim_value(given == dimensions.end() ? 1 : given->second);
      used.insert(name);
    }
  }
  for (const auto& [name, size] : dimensions)
    if (used.count(name) == 0)
      throw BadModel("no input has an open size \"" + name + "\"", "the name of one that an input leaves open");
}

std::int64_t version_of(const ModelProto& model) {
  std::int64_t version = 0;
  for (const auto& set : model.opset_import())
    if (set.domain().empty() || set.domain() == "ai.onnx") version = set.version();
  return version;
}

/// Whole numbers of a constant.
std::vector<std::int64_t> whole_numbers(const TensorProto& tensor) {
  if (tensor.data_type() != TensorProto::INT64) return {};
  std::vector<std::int64_t> out(tensor.int64_data().begin(), tensor.int64_data().end());
  if (!out.empty()) return out;
  const std::string& raw = tensor.raw_data();
  out.resize(raw.size() / sizeof(std::int64_t));
  std::memcpy(out.data(), raw.data(), out.size() * sizeof(std::int64_t));
  return out;
}

/// Reductions name their axes by an input since opset 18, which the library may not know yet: it reads an attribute.
void name_axes_by_attribute(ModelProto& model) {
  constexpr std::int64_t kAxesAsInput = 18;
  if (version_of(model) < kAxesAsInput) return;
  std::map<std::string, std::vector<std::int64_t>> constants;
  for (const TensorProto& tensor : model.graph().initializer()) constants[tensor.name()] = whole_numbers(tensor);
  for (const NodeProto& node : model.graph().node())
    if (node.op_type() == "Constant" && node.attribute_size() == 1 && node.attribute(0).has_t())
      constants[node.output(0)] = whole_numbers(node.attribute(0).t());
  for (NodeProto& node : *model.mutable_graph()->mutable_node()) {
    if (node.op_type().rfind("Reduce", 0) != 0 || node.op_type() == "ReduceSum" || node.input_size() < 2) continue;
    const auto axes = constants.find(node.input(1));
    if (axes == constants.end() || axes->second.empty()) continue;
    auto& attribute = *node.add_attribute();
    attribute.set_name("axes");
    attribute.set_type(::onnx::AttributeProto::INTS);
    for (const std::int64_t axis : axes->second) attribute.add_ints(axis);
    node.mutable_input()->RemoveLast();
  }
}

void refuse_functions(const ModelProto& model) {
  std::set<std::string> functions;
  for (const auto& function : model.functions()) functions.insert(function.name());
  for (const NodeProto& node : model.graph().node())
    if (functions.count(node.op_type()) > 0)
      throw BadModel("calls the function \"" + node.op_type() + "\"",
                     "operators of ONNX alone: onnx.inliner.inline_local_functions writes such a file");
}

void infer_shapes(ModelProto& model) {
  const ::onnx::ShapeInferenceOptions options(false, 0, true);
  try {
    ::onnx::shape_inference::InferShapes(model, ::onnx::OpSchemaRegistry::Instance(), options);
  } catch (const std::exception& error) {
    throw BadModel(std::string("its shapes contradict one another: ") + error.what(),
                   "a model that onnx.shape_inference accepts");
  }
}

}  // namespace

ModelProto inferred_model(const std::filesystem::path& file, const Dimensions& dimensions) {
  ModelProto model = parsed(file);
  refuse_functions(model);
  set_sizes(model, dimensions);
  name_axes_by_attribute(model);
  // Shapes that were exported for other sizes would win over what follows from these.
  if (!dimensions.empty()) model.mutable_graph()->clear_value_info();
  fold_sizes(model);
  infer_shapes(model);
  return model;
}

}  // namespace stepcast::onnx_graph
