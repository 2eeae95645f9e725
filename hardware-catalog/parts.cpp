#include "hardware-catalog/parts.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace stepcast {

namespace {

template <class Map>
auto by_key(const Map& map, const std::string& key) {
  const auto own = map.find(key);
  return own != map.end() ? own : map.find("all");
}

}  // namespace

bool below_16_bit(Precision precision) {
  return precision == Precision::fp8 || precision == Precision::mxfp8 || precision == Precision::fp4 ||
         precision == Precision::int8;
}

std::string Provenance::source_of(const std::string& key) const {
  const auto found = by_key(sources, key);
  return found == sources.end() ? std::string{} : found->second;
}

std::optional<Evidence> Provenance::evidence_of(const std::string& key) const {
  const auto found = by_key(evidence, key);
  return found == evidence.end() ? std::nullopt : std::optional(found->second);
}

FlopsPerSecond Accelerator::peak(Precision precision) const {
  const auto found = peak_TFLOPS.find(std::string(name_of(precision)));
  return found == peak_TFLOPS.end() ? FlopsPerSecond{} : found->second;
}

FlopsPerSecond Accelerator::product_peak(Precision precision) const {
  const auto found = peak_matrix_TFLOPS.find(std::string(name_of(precision)));
  return found == peak_matrix_TFLOPS.end() ? peak(precision) : found->second;
}

Bytes Accelerator::usable_memory() const {
  if (memory_visible) return *memory_visible;
  const bool ecc_takes_its_share = memory_kind.starts_with("GDDR") && memory_kind.ends_with("ECC");
  return memory * (ecc_takes_its_share ? kVisibleShareEccGddr : kVisibleShare);
}

BytesPerSecond Cpu::between_sockets() const { return socket_links.value_or(kUnknownSocketLinks); }

std::optional<double> LinkPart::figure(const std::string& name) const {
  const auto found = figures.find(name);
  return found == figures.end() ? std::nullopt : std::optional(found->second);
}

BytesPerSecond NodeInterconnect::bandwidth_per_accelerator(int accelerators) const {
  switch (kind) {
    case NodeTopology::single:
    case NodeTopology::pcie:
      return BytesPerSecond{};
    case NodeTopology::pair:
      return per_link * links_per_pair;
    case NodeTopology::mesh:
      return per_link * (links_per_accelerator > 0 ? links_per_accelerator : links_per_pair * (accelerators - 1));
    case NodeTopology::hybrid_cube_mesh: {
      // The accelerator with the fewest links, for that one decides a collective.
      std::vector<int> sum(static_cast<std::size_t>(std::max(accelerators, 0)), 0);
      for (const std::vector<int>& link : links)
        for (const std::size_t end : {0U, 1U})
          if (link.size() == 3 && link[end] >= 0 && link[end] < accelerators)
            sum[static_cast<std::size_t>(link[end])] += link[2];
      return sum.empty() ? BytesPerSecond{} : per_link * *std::min_element(sum.begin(), sum.end());
    }
    case NodeTopology::nvswitch:
    case NodeTopology::nvswitch_rack:
    case NodeTopology::torus_2d:
    case NodeTopology::torus_3d:
      return per_link * links_per_accelerator;
  }
  return BytesPerSecond{};
}

int Node::training_nics() const {
  int count = 0;
  for (const Nic& nic : nics)
    if (nic.training) count += nic.count;
  return count;
}

BytesPerSecond Node::training_bandwidth() const {
  BytesPerSecond sum;
  for (const Nic& nic : nics)
    if (nic.training) sum += nic.bandwidth * nic.count;
  return sum;
}

double Psu::efficiency(double load) const {
  double below = -std::numeric_limits<double>::infinity();
  double above = std::numeric_limits<double>::infinity();
  double at_below = 0;
  double at_above = 0;
  for (const auto& [text, percent] : efficiency_percent_by_load_percent) {
    double point = 0;
    std::from_chars(text.data(), text.data() + text.size(), point);
    if (point <= load * 100 && point > below) {
      below = point;
      at_below = percent;
    }
    if (point >= load * 100 && point < above) {
      above = point;
      at_above = percent;
    }
  }
  const bool has_below = std::isfinite(below);
  const bool has_above = std::isfinite(above);
  if (!has_below && !has_above) return 1;
  if (!has_below) return at_above / 100;
  if (!has_above || above == below) return at_below / 100;
  return (at_below + (at_above - at_below) * (load * 100 - below) / (above - below)) / 100;
}

}  // namespace stepcast
