#include "calibration/fit/cluster/cluster_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "fields/plain_text.hpp"
#include "models/collectives/lateness.hpp"

namespace stepcast {

namespace {

// Rows whose samples lie further apart than a tenth count less.
constexpr double kUsualSpread = 0.1;
constexpr std::size_t kSamplesForJitter = 5;
constexpr double kSmallMessage = 65536;

/// Names of algorithms as probes ask for them, by ours.
std::optional<CollectiveAlgorithm> algorithm_of(const std::string& spelt) {
  std::string name = with_dashes(spelt);
  if (name == "collnet-direct" || name == "collnet-chain") name = "collnet";
  return parse_enum<CollectiveAlgorithm>(name);
}

ElementWidth width_of(const std::string& type) {
  if (type == "float64" || type == "int64") return ElementWidth::wide;
  return type == "int8" || type == "uint8" || type == "fp8" ? ElementWidth::narrow : ElementWidth::usual;
}

using CallKey = std::tuple<CollectiveKind, bool, int, int, std::string, ElementWidth, double>;

CallKey key_of(const ClusterRow& row) {
  return {row.kind, row.ping_pong, row.place.ranks, row.place.per_node, row.asked, row.width, row.place.size.value()};
}

/// A collective row; nothing where the model does not know the algorithm.
std::optional<ClusterRow> collective_row(const Json& in) {
  ClusterRow out;
  out.kind = *parse_enum<CollectiveKind>(in["op"].get<std::string>());
  out.place = {Bytes(in["size_bytes"].get<double>()), in["ranks"].get<int>(), in["ranks_per_node"].get<int>()};
  const auto algorithm = algorithm_of(in["algorithm"].get<std::string>());
  const auto protocol = parse_enum<CollectiveProtocol>(in["protocol"].get<std::string>());
  if (!algorithm || !protocol) return std::nullopt;
  out.algorithm = *algorithm;
  out.protocol = *protocol;
  if (out.algorithm != CollectiveAlgorithm::automatic || out.protocol != CollectiveProtocol::automatic)
    out.asked = fmt::format("{} {}", in["algorithm"].get<std::string>(), in["protocol"].get<std::string>());
  out.width = width_of(in["data_type"].get<std::string>());
  out.samples_us = in["samples_us"].get<std::vector<double>>();
  out.calls_per_sample = in.value("calls_per_sample", 1);
  return out;
}

ClusterRow ping_pong_row(const Json& in) {
  ClusterRow out;
  out.kind = CollectiveKind::send_recv;
  out.ping_pong = true;
  out.place = {Bytes(in["size_bytes"].get<double>()), 2, in["nodes"].get<int>() > 1 ? 1 : 2};
  out.samples_us = in["samples_us"].get<std::vector<double>>();
  return out;
}

}  // namespace

std::string ClusterRow::words() const {
  return fmt::format("{} of {:.0f} bytes, {} ranks on {} node{}{}{}", ping_pong ? "ping-pong" : name_of(kind),
                     place.size.value(), place.ranks, nodes(), nodes() == 1 ? "" : "s", asked.empty() ? "" : ", ",
                     asked);
}

double quantile_of(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double at = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  if (below + 1 == values.size()) return values.back();
  return values[below] + (at - static_cast<double>(below)) * (values[below + 1] - values[below]);
}

double median_us(const Json& row) { return quantile_of(row["samples_us"].get<std::vector<double>>(), 0.5); }

void summarise(ClusterRow& row) {
  row.median_us = quantile_of(row.samples_us, 0.5);
  row.low_us = quantile_of(row.samples_us, 0.1);
  row.high_us = quantile_of(row.samples_us, 0.9);
  const double spread = row.median_us > 0 ? (row.high_us - row.low_us) / row.median_us / kUsualSpread : 0;
  row.weight = 1 / std::max(1.0, spread / 2);
}

std::vector<ClusterRow> cluster_rows(const std::vector<ProbeResults>& files, std::vector<std::string>& notes) {
  std::map<CallKey, ClusterRow> pooled;
  std::set<std::string> unknown;
  for (const ProbeResults& file : files)
    for (const Json& in : file.rows()) {
      std::optional<ClusterRow> row;
      if (in["kind"] == "collective") {
        row = collective_row(in);
        if (!row)
          unknown.insert(fmt::format("{} {}", in["algorithm"].get<std::string>(), in["protocol"].get<std::string>()));
      } else if (in["kind"] == "ping_pong" && in.value("transport", "") == "mpi" &&
                 in.value("direction", "both") == "both") {
        row = ping_pong_row(in);
      }
      if (!row || row->place.ranks < 2) continue;
      // A barrier carries nothing, and what carries nothing has no place on a curve over sizes.
      if (row->place.size <= Bytes(0)) continue;
      auto [known, fresh] = pooled.try_emplace(key_of(*row), *row);
      if (fresh) continue;
      ClusterRow& all = known->second;
      all.samples_us.insert(all.samples_us.end(), row->samples_us.begin(), row->samples_us.end());
      all.calls_per_sample = std::min(all.calls_per_sample, row->calls_per_sample);
    }
  for (const std::string& name : unknown)
    notes.push_back(fmt::format("rows asked for as \"{}\" are left out: the model does not know it", name));
  std::vector<ClusterRow> out;
  for (auto& [key, row] : pooled) {
    summarise(row);
    out.push_back(std::move(row));
  }
  return out;
}

double jitter_us(const std::vector<ClusterRow>& rows) {
  std::vector<double> late;
  for (const ClusterRow& row : rows) {
    if (row.samples_us.size() < kSamplesForJitter || row.place.size.value() > kSmallMessage || row.ping_pong) continue;
    if (row.place.ranks < 2) continue;
    double sum = 0;
    for (const double sample : row.samples_us) sum += std::max(0.0, sample - row.low_us);
    const Seconds call(sum / static_cast<double>(row.samples_us.size()) * 1e-6);
    late.push_back(rank_lateness(call, row.place.ranks, row.calls_per_sample).in(1_us));
  }
  return quantile_of(late, 0.5);
}

std::vector<Spike> spikes_of(const std::vector<ClusterRow>& rows) {
  std::vector<Spike> out;
  std::size_t sound = 0;  // the last row that is no spike: what stands beside one is judged without it
  for (std::size_t i = 1; i + 1 < rows.size(); ++i) {
    const bool inside = curve_key(rows[sound]) == curve_key(rows[i]) && curve_key(rows[i + 1]) == curve_key(rows[i]);
    const double low = std::min(rows[sound].median_us, rows[i + 1].median_us);
    const double high = std::max(rows[sound].median_us, rows[i + 1].median_us);
    if (inside && (rows[i].median_us > kSpike * high || rows[i].median_us < low / kSpike))
      out.push_back({i, std::sqrt(low * high)});
    else
      sound = i;
  }
  return out;
}

namespace {

/// Times of 8 and 64 bit elements differ from the usual ones, and stand for all only where these were not measured.
int preference(ElementWidth width) { return width == ElementWidth::usual ? 0 : width == ElementWidth::narrow ? 1 : 2; }

}  // namespace

std::vector<MeasuredCurve> curves_of(const std::vector<ClusterRow>& rows, bool across) {
  const auto counts = [&](const ClusterRow& row) {
    return row.chosen() && row.weight > 0 && (row.nodes() > 1) == across;
  };
  const auto place_of = [](const ClusterRow& row) { return std::tuple(row.kind, row.place.ranks, row.place.per_node); };
  std::map<std::tuple<CollectiveKind, int, int>, int> preferred;
  for (const ClusterRow& row : rows) {
    if (!counts(row)) continue;
    const auto [best, fresh] = preferred.emplace(place_of(row), preference(row.width));
    if (!fresh) best->second = std::min(best->second, preference(row.width));
  }
  std::vector<MeasuredCurve> out;
  const ClusterRow* last = nullptr;
  for (const ClusterRow& row : rows) {
    if (!counts(row) || preference(row.width) != preferred.at(place_of(row))) continue;
    if (last == nullptr || curve_key(*last) != curve_key(row))
      out.push_back({std::string(name_of(row.kind)), row.place.ranks, row.place.per_node, {}, {}});
    last = &row;
    out.back().size_bytes.push_back(row.place.size.value());
    out.back().time_us.push_back(row.median_us);
  }
  return out;
}

}  // namespace stepcast
