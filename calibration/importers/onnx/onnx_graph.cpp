#include "calibration/importers/onnx/onnx_graph.hpp"

#include <algorithm>
#include <array>
#include <set>

namespace stepcast {

namespace {

/// Operators that give what they get under other sizes, or as another type.
constexpr std::array kViews{"Identity", "Reshape", "Transpose", "Slice",  "Squeeze", "Unsqueeze",
                            "Flatten",  "Cast",    "Expand",    "Gather", "Split",   "Concat"};

bool is_view(const OnnxNode& node) {
  return std::any_of(kViews.begin(), kViews.end(), [&](const char* kind) { return node.is(kind); });
}

OnnxValue value_of(const Json& text) {
  OnnxValue out;
  out.real = text.at("real").get<bool>();
  const std::string kind = text.value("kind", "");
  out.weight = out.real && kind == "weight";
  out.constant = !out.weight && !kind.empty();
  out.tied_to = text.value("tied_to", "");
  const Json& sizes = text.at("sizes");
  const auto unknown = [](const Json& size) { return !size.is_number() || size.get<double>() < 0; };
  out.known = sizes.is_array() && std::none_of(sizes.begin(), sizes.end(), unknown);
  if (out.known) out.sizes = sizes.get<std::vector<double>>();
  return out;
}

/// Running means and variances, which no gradient trains.
std::set<std::string> running_statistics(const std::vector<OnnxNode>& nodes) {
  std::set<std::string> out;
  for (const OnnxNode& node : nodes)
    if (node.is("BatchNormalization") && node.inputs.size() == 5) out.insert({node.inputs[3], node.inputs[4]});
  return out;
}

}  // namespace

double OnnxValue::elements() const {
  double product = 1;
  for (const double size : sizes) product *= size;
  return product;
}

std::vector<double> OnnxNode::numbers(const char* attribute) const {
  const auto at = attributes.find(attribute);
  return at != attributes.end() && at->is_array() ? at->get<std::vector<double>>() : std::vector<double>{};
}

double OnnxNode::number(const char* attribute, double fallback) const {
  const auto at = attributes.find(attribute);
  return at != attributes.end() && at->is_number() ? at->get<double>() : fallback;
}

std::string OnnxNode::text(const char* attribute, const char* fallback) const {
  const auto at = attributes.find(attribute);
  return at != attributes.end() && at->is_string() ? at->get<std::string>() : fallback;
}

OnnxGraph OnnxGraph::from_json(const Json& text) {
  OnnxGraph out;
  out.inputs = text.at("inputs").get<std::vector<std::string>>();
  for (const auto& [name, value] : text.at("values").items()) out.values_[name] = value_of(value);
  for (const Json& node : text.at("nodes"))
    out.nodes.push_back({node.at("operator").get<std::string>(), node.at("name").get<std::string>(),
                         node.at("inputs").get<std::vector<std::string>>(),
                         node.at("outputs").get<std::vector<std::string>>(), node.at("attributes")});
  out.resolve_weights();
  out.index();
  return out;
}

/// Exporters write weights of equal values once and name the copies by Identity: fresh norms are alike, matrices are
/// only where they are tied. Views of weights are weights.
void OnnxGraph::resolve_weights() {
  std::set<std::string> statistics = running_statistics(nodes);
  const auto weight_like = [&](const std::string& name) {
    return name.empty() || value(name).weight || value(name).constant || !value(name).real;
  };
  for (const auto& [name, tensor] : values_)
    if (tensor.weight && tensor.tied_to.empty() && tensor.elements() > 1 && statistics.count(name) == 0)
      weights_[name] = tensor;
  std::vector<OnnxNode> kept;
  for (OnnxNode& node : nodes) {
    const bool derived = is_view(node) && !node.inputs.empty() && value(node.inputs[0]).weight &&
                         std::all_of(node.inputs.begin(), node.inputs.end(), weight_like);
    if (!derived) {
      kept.push_back(std::move(node));
      continue;
    }
    const OnnxValue from = value(node.inputs[0]);
    const bool copy = node.is("Identity") && from.sizes.size() < 2;
    for (const std::string& output : node.outputs) {
      OnnxValue& tensor = values_[output];
      if (node.is("Identity")) tensor = from;
      tensor.weight = true;
      tensor.constant = false;
      tensor.view_of = from.view_of.empty() ? node.inputs[0] : from.view_of;
      if (copy && statistics.count(output) == 0) weights_[output] = tensor;
    }
  }
  nodes = std::move(kept);
}

void OnnxGraph::index() {
  giver_.clear();
  takers_.clear();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const std::string& output : nodes[i].outputs) giver_[output] = i;
    const std::set<std::string> taken(nodes[i].inputs.begin(), nodes[i].inputs.end());
    for (const std::string& input : taken) takers_[input].push_back(i);
  }
}

const OnnxValue& OnnxGraph::value(const std::string& name) const {
  static const OnnxValue kUnknown;
  const auto at = values_.find(name);
  return at == values_.end() ? kUnknown : at->second;
}

const OnnxNode* OnnxGraph::giver(const std::string& name) const {
  const auto at = giver_.find(name);
  return at == giver_.end() ? nullptr : &nodes[at->second];
}

const OnnxNode* OnnxGraph::only_taker(const std::string& name) const {
  const auto at = takers_.find(name);
  return at == takers_.end() || at->second.size() != 1 ? nullptr : &nodes[at->second.front()];
}

int OnnxGraph::takers(const std::string& name) const {
  const auto at = takers_.find(name);
  return at == takers_.end() ? 0 : static_cast<int>(at->second.size());
}

void OnnxGraph::replace(const std::vector<const OnnxNode*>& old, OnnxNode by) {
  std::set<std::size_t> places;
  for (const OnnxNode* node : old) places.insert(static_cast<std::size_t>(node - nodes.data()));
  by.outputs = nodes[*places.rbegin()].outputs;
  nodes[*places.rbegin()] = std::move(by);
  places.erase(std::prev(places.end()));
  for (auto place = places.rbegin(); place != places.rend(); ++place)
    nodes.erase(nodes.begin() + static_cast<std::ptrdiff_t>(*place));
  index();
}

}  // namespace stepcast
