#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "calibration/importers/kineto/kineto_graph.hpp"
#include "version.hpp"

namespace stepcast {

namespace {

/// Operators that are listed beside products and collectives: those that take most time.
constexpr std::size_t kMostOperators = 400;

/// Rows of one kind with equal keys, and their samples.
class Rows {
 public:
  void add(const Json& keys, double seconds) {
    if (seconds <= 0) return;
    Row& row = rows_[keys.dump()];
    if (row.samples.empty()) row.keys = keys;
    row.samples.push_back(seconds * 1e6);
    row.total += seconds;
  }
  /// In order of their keys; with a limit those that take most time.
  void write(Json& out, std::size_t most) const {
    std::vector<const Row*> sorted;
    for (const auto& [key, row] : rows_) sorted.push_back(&row);
    if (sorted.size() > most) {
      std::stable_sort(sorted.begin(), sorted.end(), [](const Row* a, const Row* b) { return a->total > b->total; });
      sorted.resize(most);
    }
    for (const Row* row : sorted) {
      Json entry = row->keys;
      entry["samples_us"] = row->samples;
      out.push_back(std::move(entry));
    }
  }

 private:
  struct Row {
    Json keys;
    std::vector<double> samples;
    double total = 0;
  };
  std::map<std::string, Row> rows_;
};

std::string data_type_of(const std::string& type) {
  static const std::map<std::string, std::string> names{
      {"Float", "float32"},     {"Double", "float64"},  {"Half", "float16"}, {"BFloat16", "bfloat16"},
      {"Int", "int32"},         {"Long", "int64"},      {"Char", "int8"},    {"Byte", "uint8"},
      {"Float8_e4m3fn", "fp8"}, {"Float8_e5m2", "fp8"}, {"Bool", "uint8"},   {"Float8_e4m3fnuz", "fp8"}};
  const auto found = names.find(type);
  return found == names.end() ? std::string() : found->second;
}

std::string precision_name(const std::string& type, const std::string& kernel) {
  const auto has = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
  if (has(type, "BFloat16")) return "bf16";
  if (has(type, "Half")) return "fp16";
  if (type == "double") return "fp64";
  if (type == "float") return has(kernel, "s1688") || has(kernel, "tf32") ? "tf32" : "fp32";
  return {};
}

/// Sizes of the product behind an operation of PyTorch; empty where it is none, or its shapes are not told.
Json product_of(const TraceEvent& operation) {
  const auto& shapes = operation.shapes;
  std::size_t first = 0;
  if (operation.name == "aten::addmm" || operation.name == "aten::baddbmm")
    first = 1;
  else if (operation.name != "aten::mm" && operation.name != "aten::bmm")
    return {};
  if (shapes.size() < first + 2) return {};
  const std::vector<long>&a = shapes[first], &b = shapes[first + 1];
  if (a.size() != b.size() || (a.size() != 2 && a.size() != 3)) return {};
  const std::size_t at = a.size() - 2;
  if (a[at] < 1 || a[at + 1] < 1 || b[at + 1] < 1 || a[at + 1] != b[at]) return {};
  Json out{{"kind", "gemm"}, {"m", a[at]}, {"n", b[at + 1]}, {"k", a[at + 1]}};
  if (at == 1 && a[0] > 1) out["batch"] = a[0];
  return out;
}

void add_collective(Rows& rows, const KinetoTrace& trace, const TraceEvent& event) {
  const TracedCollective& told = *event.collective;
  const std::string type = data_type_of(told.type);
  const int bytes = bytes_of_type(told.type), ranks = std::max(1, told.group_size);
  if (type.empty() || bytes == 0) return;
  const int per_node = trace.devices > 0 ? std::min(ranks, trace.devices) : ranks;
  rows.add({{"kind", "collective"},
            {"op", name_of(told.kind)},
            {"size_bytes", static_cast<long>(std::max(told.in_elements, told.out_elements)) * bytes},
            {"ranks", ranks},
            {"nodes", (ranks + per_node - 1) / per_node},
            {"ranks_per_node", per_node},
            {"in_place", false},
            {"algorithm", "auto"},
            {"protocol", "auto"},
            {"data_type", type},
            {"across_ranks", "rank_0"},
            {"checked", false},
            {"note", "kernel time on a traced rank, waiting for later ranks included"}},
           event.length());
}

void add_events(Rows& products, Rows& collectives, Rows& others, const KinetoTrace& trace) {
  std::unordered_map<long, const TraceEvent*> operation;
  for (const TraceEvent& event : trace.events)
    if (event.kind == TraceEventKind::operation && event.external >= 0) operation[event.external] = &event;
  for (const TraceEvent& event : trace.events) {
    if (event.kind != TraceEventKind::kernel) continue;
    if (event.collective) {
      add_collective(collectives, trace, event);
      continue;
    }
    const auto found = operation.find(event.external);
    const TraceEvent* parent = found == operation.end() ? nullptr : found->second;
    if (parent && event.kernel == KernelKind::gemm) {
      Json keys = product_of(*parent);
      const std::string precision = precision_name(parent->type, event.name);
      if (!keys.is_null() && !precision.empty()) {
        keys["precision"] = precision;
        keys["checked"] = false;
        products.add(keys, event.length());
        continue;
      }
    }
    Json keys{{"kind", "operator"}, {"name", parent ? parent->name : event.name}};
    if (parent && !parent->shapes.empty()) keys["shapes"] = parent->shapes;
    others.add(keys, event.length());
  }
}

}  // namespace

Json kineto_results(const std::vector<KinetoTrace>& traces, const std::vector<std::string>& command) {
  Rows products, collectives, others;
  for (const KinetoTrace& trace : traces) add_events(products, collectives, others, trace);
  Json results = Json::array();
  collectives.write(results, static_cast<std::size_t>(-1));
  products.write(results, static_cast<std::size_t>(-1));
  others.write(results, kMostOperators);
  const KinetoTrace& first = traces.front();
  Json versions = Json::object(), environment = Json::object();
  if (!first.library_version.empty()) versions["nccl"] = first.library_version;
  if (!first.device.empty() && !first.on_processor) environment["accelerator"] = first.device;
  if (first.devices > 0 && !first.on_processor) environment["accelerators"] = first.devices;
  return {{"format_version", 1},
          {"probe", "import-kineto"},
          {"tool_version", kVersion},
          {"host", "unknown"},
          {"date", "1970-01-01T00:00:00Z"},
          {"command", command},
          {"versions", std::move(versions)},
          {"clocks", Json::object()},
          {"environment", std::move(environment)},
          {"warnings", {"the trace tells neither host nor date"}},
          {"results", std::move(results)}};
}

}  // namespace stepcast
