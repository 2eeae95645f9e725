#include "calibration/importers/chakra/translate_node.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>

namespace stepcast {

namespace {

/// Collectives by their number on the wire. Gather and scatter send through one rank's port what an all_to_all of the
/// same buffer sends through every port, so they take as long; reduce_scatter_block is MPI's name of reduce_scatter.
constexpr std::array kCollectives{CollectiveKind::all_reduce,     CollectiveKind::reduce,
                                  CollectiveKind::all_gather,     CollectiveKind::all_to_all,
                                  CollectiveKind::all_to_all,     CollectiveKind::broadcast,
                                  CollectiveKind::all_to_all,     CollectiveKind::reduce_scatter,
                                  CollectiveKind::reduce_scatter, CollectiveKind::barrier};
constexpr std::int64_t kGather = 3, kScatter = 4;

std::string place_of(const ChakraNode& node) { return fmt::format("node {}", node.id); }

/// Reads attributes of one node; what is not as it should be is a fault.
class Attributes {
 public:
  Attributes(const ChakraNode& node, Diagnostics& diagnostics) : node_(node), diagnostics_(diagnostics) {}

  [[nodiscard]] const ChakraAttribute* find(std::string_view name) const {
    return find_attribute(node_.attributes, name);
  }
  [[nodiscard]] std::optional<bool> flag(std::string_view name) const {
    const ChakraAttribute* attribute = find(name);
    return attribute ? attribute->boolean() : std::nullopt;
  }
  [[nodiscard]] std::optional<std::string> text(std::string_view name) const {
    const ChakraAttribute* attribute = find(name);
    return attribute ? attribute->text() : std::nullopt;
  }
  std::optional<std::int64_t> integer(std::string_view name, std::int64_t least, std::int64_t most) {
    const ChakraAttribute* attribute = find(name);
    if (!attribute) return std::nullopt;
    const std::optional<std::int64_t> value = attribute->integer();
    if (value && *value >= least && *value <= most) return value;
    fault(fmt::format("{} is {}, expected a whole number of {} to {}", name,
                      value ? fmt::format("{}", *value) : std::string("none"), least, most));
    return std::nullopt;
  }
  std::optional<double> amount(std::string_view name, double most) {
    const ChakraAttribute* attribute = find(name);
    if (!attribute) return std::nullopt;
    const std::optional<double> value = attribute->number();
    if (value && *value >= 0 && *value <= most) return value;
    fault(fmt::format("{} is {}, expected a number of 0 to {:g}", name,
                      value ? fmt::format("{:g}", *value) : std::string("none"), most));
    return std::nullopt;
  }
  void fault(std::string message) { diagnostics_.error(place_of(node_), std::move(message)); }

 private:
  const ChakraNode& node_;
  Diagnostics& diagnostics_;
};

constexpr double kMostWork = 1e24;

/// As measured; finer than the format's whole microseconds where our own exporter has said so.
std::optional<Seconds> duration_of(const ChakraNode& node, Attributes& attributes) {
  if (const auto exact = attributes.amount("exact_duration_us", kLongestMicroseconds)) return *exact * 1_us;
  if (static_cast<double>(node.duration_us) > kLongestMicroseconds) {
    attributes.fault(fmt::format("lasts {} us, expected at most {:g}", node.duration_us, kLongestMicroseconds));
    return std::nullopt;
  }
  if (node.duration_us == 0) return std::nullopt;
  return static_cast<double>(node.duration_us) * 1_us;
}

/// A duration that was measured comes first; without one, what the device of the cluster makes of work and bytes.
void translate_compute(RankOperation& out, const ChakraNode& node, Attributes& attributes) {
  out.duration = duration_of(node, attributes);
  const auto work = attributes.amount("num_ops", kMostWork);
  const auto bytes = attributes.amount("tensor_size", kMostBytes);
  if (!out.duration && work.value_or(0) > 0) {
    out.work = Flops(*work);
    if (bytes) out.memory = Bytes(*bytes);
  }
  if (!out.duration && !out.work) out.duration = Seconds(0);
}

void translate_memory(RankOperation& out, const ChakraNode& node, Attributes& attributes) {
  out.kind = RankOperationKind::memory;
  out.duration = duration_of(node, attributes);
  const auto bytes = attributes.amount("tensor_size", kMostBytes);
  if (out.duration) return;
  if (bytes)
    out.memory = Bytes(*bytes);
  else
    attributes.fault("a memory node has neither a duration nor tensor_size");
}

void translate_message(RankOperation& out, const ChakraNode& node, Attributes& attributes) {
  const bool sends = static_cast<ChakraNodeType>(node.type) == ChakraNodeType::send;
  out.kind = sends ? RankOperationKind::send : RankOperationKind::receive;
  const char* key = sends ? "comm_dst" : "comm_src";
  const auto peer = attributes.integer(key, 0, kMostRanks - 1);
  if (peer) out.peer = static_cast<int>(*peer);
  // src/converter/pytorch_converter.py of mlcommons/chakra gives messages their size and process group alone.
  if (!attributes.find(key))
    attributes.fault(
        fmt::format("a {} node has no {}, which Chakra's converter of PyTorch's traces leaves out: add it to the "
                    "nodes, or import the profiler's own traces (stepcast import kineto)",
                    name_of(out.kind), key));
  if (const auto tag = attributes.integer("comm_tag", std::numeric_limits<int>::min(), std::numeric_limits<int>::max()))
    out.tag = static_cast<int>(*tag);
  if (const auto size = attributes.amount("comm_size", kMostBytes)) out.size = Bytes(*size);
  if (sends && !attributes.find("comm_size")) attributes.fault("a send node has no comm_size");
}

void translate_collective(RankOperation& out, const ChakraNode& node, Attributes& attributes, bool on_host) {
  // The host's part of a collective has no comm_type: it only hands the work over.
  if (on_host && !attributes.find("comm_type")) return translate_compute(out, node, attributes);
  out.kind = RankOperationKind::collective;
  if (!attributes.find("comm_type")) attributes.fault("a collective node has no comm_type");
  const std::int64_t last = static_cast<std::int64_t>(kCollectives.size()) - 1;
  const auto type = attributes.integer("comm_type", std::numeric_limits<std::int64_t>::min(),
                                       std::numeric_limits<std::int64_t>::max());
  if (type && (*type < 0 || *type > last)) {
    attributes.fault(
        fmt::format("comm_type {} is no collective, expected 0 (all_reduce) to {} (barrier)", *type, last));
    return;
  }
  if (type) out.collective = kCollectives[static_cast<std::size_t>(*type)];
  // Traces give the size of a rank's input: of an all_gather, its share.
  if (const auto size = attributes.amount("comm_size", kMostBytes))
    (out.collective == CollectiveKind::all_gather ? out.share : out.size) = Bytes(*size);
  if (!attributes.find("comm_size") && out.collective != CollectiveKind::barrier)
    attributes.fault("a collective node has no comm_size");
  if (type == kGather) out.name += " (gather)";
  if (type == kScatter) out.name += " (scatter)";
  out.group = printable(attributes.text("pg_name").value_or(""));
}

/// Threads of the host and streams of the device, as far as the trace tells them apart.
std::string stream_name(const Attributes& attributes, bool on_host) {
  if (!on_host)
    if (const auto stream = attributes.text("stream")) return fmt::format("device stream {}", *stream);
  const auto thread = attributes.text("tid");
  if (!thread) return {};
  return fmt::format("{} {}", on_host ? "host thread" : "device stream", *thread);
}

}  // namespace

bool is_pytorch_node(const ChakraNode& node) { return find_attribute(node.attributes, "rf_id") != nullptr; }

std::string printable(const std::string& text) {
  // Whatever is no UTF-8 is replaced by the JSON writer.
  std::string out = Json::parse(Json(text).dump(-1, ' ', false, Json::error_handler_t::replace)).get<std::string>();
  for (char& c : out)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return out;
}

std::int64_t traced_collective(CollectiveKind kind) {
  for (std::size_t i = kCollectives.size(); i-- > 0;)
    if (kCollectives[i] == kind) {
      // Of the numbers that mean the same to us, the kind's own.
      if (kind == CollectiveKind::all_to_all) return 6;
      if (kind == CollectiveKind::reduce_scatter) return 7;
      return static_cast<std::int64_t>(i);
    }
  return -1;
}

RankOperation translate_node(const ChakraNode& node, Diagnostics& diagnostics) {
  Attributes attributes(node, diagnostics);
  RankOperation out;
  out.id = node.id;
  out.name = printable(node.name);
  out.after = node.data;
  const bool on_host = attributes.flag("is_cpu_op").value_or(false);
  switch (static_cast<ChakraNodeType>(node.type)) {
    case ChakraNodeType::metadata:
      out.duration = Seconds(0);
      out.host = true;
      out.stream = "metadata";
      return out;
    case ChakraNodeType::compute:
      translate_compute(out, node, attributes);
      break;
    case ChakraNodeType::memory_load:
    case ChakraNodeType::memory_store:
      translate_memory(out, node, attributes);
      break;
    case ChakraNodeType::send:
    case ChakraNodeType::receive:
      translate_message(out, node, attributes);
      break;
    case ChakraNodeType::collective:
      translate_collective(out, node, attributes, on_host);
      break;
    default:
      attributes.fault(fmt::format("type {} is no type of node, expected 1 (metadata) to {} (collective)", node.type,
                                   kChakraNodeTypes - 1));
  }
  const bool communicates = out.kind == RankOperationKind::collective || out.peer.has_value();
  out.host = on_host && !communicates;
  out.stream = stream_name(attributes, out.host);
  return out;
}

}  // namespace stepcast
