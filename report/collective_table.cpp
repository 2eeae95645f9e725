#include "report/collective_table.hpp"

#include <fmt/format.h>

#include <cmath>

#include "report/humane.hpp"
#include "report/svg.hpp"

namespace stepcast {

namespace {

constexpr double kGiga = 1e9;

/// nccl-tests prints two digits of what takes milliseconds and fewer of what takes longer, so that columns keep their
/// width.
std::string microseconds(Seconds time) {
  const double us = time.in(1_us);
  if (us >= 10000) return fmt::format("{:.0f}", us);
  return us >= 100 ? fmt::format("{:.1f}", us) : fmt::format("{:.2f}", us);
}

std::string gigabytes(BytesPerSecond rate) { return fmt::format("{:.2f}", rate.value() / kGiga); }

/// "8", "1K", "1.5M": a size as people ask for it.
std::string short_size(Bytes size) {
  constexpr std::array kUnits{"", "K", "M", "G", "T"};
  double number = size.value();
  std::size_t unit = 0;
  for (; number >= 1024 && unit + 1 < kUnits.size(); ++unit) number /= 1024;
  if (number == std::floor(number)) return fmt::format("{:.0f}{}", number, kUnits[unit]);
  return fmt::format("{:.3g}{}", number, kUnits[unit]);
}

double elements(const CollectiveTable& table, const CollectiveRow& row) {
  const double parts = table.counts_per_rank ? table.ranks : 1;
  return std::floor(row.size.value() / table.type.bytes / parts);
}

/// To the right of its column; what is wider than that keeps a blank before it.
std::string cell(const std::string& text, std::size_t width) { return fmt::format("{:>{}}", " " + text, width); }

std::string row_text(const CollectiveTable& table, const CollectiveRow& row) {
  return cell(fmt::format("{:.0f}", row.size.value()), 12) + cell(fmt::format("{:.0f}", elements(table, row)), 14) +
         fmt::format("{:>10}{:>8}{:>8}", table.type.nccl_name, table.sums ? "sum" : "none",
                     table.has_root ? "0" : "-1") +
         cell(microseconds(row.time), 10) + cell(gigabytes(row.algorithm_bandwidth()), 9) +
         cell(gigabytes(row.bus_bandwidth()), 9) + fmt::format("  {:<18} {}\n", row.algorithm, row.protocol);
}

Json row_json(const CollectiveRow& row) {
  Json out{{"size_bytes", static_cast<long long>(row.size.value())},
           {"time_us", row.time.in(1_us)},
           {"algbw_GBps", row.algorithm_bandwidth().value() / kGiga},
           {"busbw_GBps", row.bus_bandwidth().value() / kGiga},
           {"algorithm", row.algorithm},
           {"protocol", row.protocol}};
  if (!row.basis.empty()) out["basis"] = row.basis;
  if (row.low) out["time_us_low"] = row.low->in(1_us);
  if (row.high) out["time_us_high"] = row.high->in(1_us);
  return out;
}

std::string places(const CollectiveTable& table) {
  return fmt::format("{} rank{} on {} node{}", whole(table.ranks), table.ranks == 1 ? "" : "s", whole(table.nodes),
                     table.nodes == 1 ? "" : "s");
}

}  // namespace

BytesPerSecond CollectiveRow::algorithm_bandwidth() const {
  return time > Seconds(0) ? size / time : BytesPerSecond(0);
}

const std::vector<ElementType>& element_types() {
  static const std::vector<ElementType> types{
      {"float32", "float", "fp32", 4},   {"float16", "half", "fp16", 2},     {"bfloat16", "bfloat16", "bf16", 2},
      {"float64", "double", "fp64", 8},  {"int8", "int8", "int8", 1},        {"uint8", "uint8", "uint8", 1},
      {"int32", "int32", "int32", 4},    {"uint32", "uint32", "uint32", 4},  {"int64", "int64", "int64", 8},
      {"uint64", "uint64", "uint64", 8}, {"fp8_e4m3", "fp8_e4m3", "fp8", 1}, {"fp8_e5m2", "fp8_e5m2", "fp8_e5m2", 1}};
  return types;
}

BytesPerSecond CollectiveTable::average_bus_bandwidth() const {
  BytesPerSecond sum;
  for (const CollectiveRow& row : rows) sum += row.bus_bandwidth();
  return rows.empty() ? sum : sum / static_cast<double>(rows.size());
}

double bus_factor(CollectiveKind kind, int ranks) {
  const double n = ranks;
  switch (kind) {
    case CollectiveKind::all_reduce:
      return 2 * (n - 1) / n;
    case CollectiveKind::all_gather:
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::all_to_all:
      return (n - 1) / n;
    case CollectiveKind::broadcast:
    case CollectiveKind::reduce:
    case CollectiveKind::send_recv:
    case CollectiveKind::barrier:
      break;
  }
  return 1;
}

std::string collective_text(const CollectiveTable& table) {
  std::string out =
      fmt::format("# {} of {} by {}, predicted ({})\n", table.op, places(table), table.library, table.flows);
  out += fmt::format("# {}: {}\n", table.cluster, table.machine);
  for (const std::string& note : table.notes) out += "# " + note + "\n";
  out += "#\n";
  out += fmt::format("#{:>11}{:>14}{:>10}{:>8}{:>8}{:>10}{:>9}{:>9}  {:<18} {}\n", "size", "count", "type", "redop",
                     "root", "time", "algbw", "busbw", "algorithm", "protocol");
  out += fmt::format("#{:>11}{:>14}{:>10}{:>8}{:>8}{:>10}{:>9}{:>9}\n", "(B)", "(elements)", "", "", "", "(us)",
                     "(GB/s)", "(GB/s)");
  for (const CollectiveRow& row : table.rows) out += row_text(table, row);
  return out + fmt::format("# Avg bus bandwidth    : {:.6g}\n", table.average_bus_bandwidth().value() / kGiga);
}

Json collective_json(const CollectiveTable& table) {
  Json rows = Json::array();
  for (const CollectiveRow& row : table.rows) rows.push_back(row_json(row));
  return {{"op", table.op},
          {"cluster", table.cluster},
          {"library", table.library},
          {"flows", table.flows},
          {"ranks", table.ranks},
          {"ranks_per_node", table.ranks_per_node},
          {"nodes", table.nodes},
          {"dtype", table.type.name},
          {"average_busbw_GBps", table.average_bus_bandwidth().value() / kGiga},
          {"notes", table.notes},
          {"rows", std::move(rows)}};
}

std::string collective_svg(const CollectiveTable& table) {
  Drawing drawing;
  drawing.title = fmt::format("{}, {}", table.op, places(table));
  drawing.subtitle = fmt::format("{}, {}", table.cluster, table.library);
  drawing.position_label = "size (bytes)";
  ChartSeries bandwidth{"bus bandwidth", {}, false}, time{"time", {}, false};
  for (const CollectiveRow& row : table.rows) {
    drawing.positions.push_back(short_size(row.size));
    bandwidth.values.push_back(row.bus_bandwidth().value() / kGiga);
    time.values.push_back(row.time.in(1_us));
  }
  drawing.panels.push_back({ChartKind::lines, ChartScale::logarithmic, "GB/s", {std::move(bandwidth)}});
  drawing.panels.push_back({ChartKind::lines, ChartScale::logarithmic, "µs", {std::move(time)}});
  return svg(drawing);
}

}  // namespace stepcast
