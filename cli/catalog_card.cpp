#include "cli/catalog_card.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "report/humane.hpp"

namespace stepcast {

namespace {

/// A unit as it ends a key, and as people write it.
struct WrittenUnit {
  std::string_view in_key;
  std::string_view written;
};

// Longer ones first: `usd_per_h` before `h`.
constexpr std::array kUnits{
    WrittenUnit{"gCO2_per_kWh", "g CO₂/kWh"},
    WrittenUnit{"usd_per_month", "$/month"},
    WrittenUnit{"usd_per_chip_h", "$/h a chip"},
    WrittenUnit{"usd_per_kWh", "$/kWh"},
    WrittenUnit{"usd_per_h", "$/h"},
    WrittenUnit{"ns_per_m", "ns/m"},
    WrittenUnit{"usd", "$"},
    WrittenUnit{"TFLOPS", "TFLOPS"},
    WrittenUnit{"GFLOPS", "GFLOPS"},
    WrittenUnit{"GBps", "GB/s"},
    WrittenUnit{"MBps", "MB/s"},
    WrittenUnit{"MiBps", "MiB/s"},
    WrittenUnit{"Tbps", "Tb/s"},
    WrittenUnit{"Gbps", "Gb/s"},
    WrittenUnit{"MTps", "MT/s"},
    WrittenUnit{"GTps", "GT/s"},
    WrittenUnit{"kIOPS", "k IOPS"},
    WrittenUnit{"MiB", "MiB"},
    WrittenUnit{"TB", "TB"},
    WrittenUnit{"GB", "GB"},
    WrittenUnit{"MB", "MB"},
    WrittenUnit{"MHz", "MHz"},
    WrittenUnit{"GHz", "GHz"},
    WrittenUnit{"CFM", "CFM"},
    WrittenUnit{"percent", "%"},
    WrittenUnit{"MWh", "MWh"},
    WrittenUnit{"kW", "kW"},
    WrittenUnit{"MW", "MW"},
    WrittenUnit{"W", "W"},
    WrittenUnit{"ns", "ns"},
    WrittenUnit{"us", "µs"},
    WrittenUnit{"ms", "ms"},
    WrittenUnit{"s", "s"},
    WrittenUnit{"h", "h"},
    WrittenUnit{"m", "m"},
};

struct NamedUnit {
  std::string name;
  std::string unit;
};

NamedUnit split_unit(const std::string& key) {
  NamedUnit out{key, ""};
  for (const WrittenUnit& unit : kUnits) {
    const std::string ending = "_" + std::string(unit.in_key);
    if (!key.ends_with(ending)) continue;
    out = {key.substr(0, key.size() - ending.size()), std::string(unit.written)};
    break;
  }
  std::replace(out.name.begin(), out.name.end(), '_', ' ');
  return out;
}

std::string value_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_number()) return plain_number(value.get<double>());
  return value.dump();
}

std::string with_unit(const std::string& value, const std::string& unit) {
  return unit.empty() ? value : fmt::format("{} {}", value, unit);
}

/// Numbers the sources in order of their first use.
class SourceList {
 public:
  std::string number(const std::string& source) {
    if (source.empty()) return "";
    const auto found = std::find(sources_.begin(), sources_.end(), source);
    const auto index = found - sources_.begin();
    if (found == sources_.end()) sources_.push_back(source);
    return fmt::format("[{}]", index + 1);
  }
  [[nodiscard]] std::string text() const {
    std::string out = "\nSources\n";
    for (std::size_t i = 0; i < sources_.size(); ++i) out += fmt::format("  [{}] {}\n", i + 1, sources_[i]);
    return sources_.empty() ? "" : out;
  }

 private:
  std::vector<std::string> sources_;
};

/// Lines of one card while it is written.
class Card {
 public:
  explicit Card(const Json& entry) : entry_(entry) {}

  void figure(const std::string& key, const Json& value) { add(key, value, {key, 0, "", true}); }
  [[nodiscard]] std::string text() const {
    std::array<int, 3> widths{0, 0, 0};
    for (const Row& row : rows_)
      for (std::size_t i = 0; i < widths.size(); ++i)
        if (columns_of(row[i]) <= kWidest) widths[i] = std::max(widths[i], columns_of(row[i]));
    std::string out;
    for (const Row& row : rows_) {
      std::string line = fmt::format("  {}  {}  {}  {}", pad_right(row[0], widths[0]), pad_right(row[1], widths[1]),
                                     pad_right(row[2], widths[2]), row[3]);
      line.erase(line.find_last_not_of(' ') + 1);
      out += line + "\n";
    }
    return out + sources_.text();
  }

 private:
  using Row = std::array<std::string, 4>;  ///< name, value, evidence, source
  static constexpr int kWidest = 48;       ///< a longer value runs over instead of widening its column

  /// Where a figure stands in the entry: its path is what a source may be stated for.
  struct Place {
    std::string path;
    int depth = 0;
    std::string unit_above;   ///< of the object that holds it, for parts without a unit of their own
    bool falls_back = false;  ///< what `all` states holds; a part is covered by its object
  };

  [[nodiscard]] std::string stated(const char* which, const Place& place) const {
    const Json map = entry_.value(which, Json::object());
    if (map.contains(place.path)) return value_text(map[place.path]);
    return place.falls_back && map.contains("all") ? value_text(map["all"]) : "";
  }

  /// An object's parts follow below its name.
  void add(const std::string& key, const Json& value, const Place& place) {
    const NamedUnit named = split_unit(key);
    const std::string unit = named.unit.empty() ? place.unit_above : named.unit;
    const std::string name = std::string(static_cast<std::size_t>(2 * place.depth), ' ') + named.name;
    const std::string evidence = stated("evidence", place);
    const std::string source = sources_.number(stated("sources", place));
    const bool has_parts = value.is_object() || (value.is_array() && !value.empty() && value[0].is_object());
    if (!has_parts) {
      rows_.push_back({name, with_unit(value_text(value), value.is_number() ? unit : ""), evidence, source});
      return;
    }
    rows_.push_back({name, "", evidence, source});
    for (const Json& part : value.is_array() ? std::vector<Json>(value.begin(), value.end()) : std::vector{value})
      for (const auto& item : part.items())
        add(item.key(), item.value(), {place.path + "." + item.key(), place.depth + 1, unit, false});
  }

  const Json& entry_;
  SourceList sources_;
  std::vector<Row> rows_;
};

bool is_own_key(const std::string& key) {
  return key == "id" || key == "sources" || key == "evidence" || key == "note";
}

}  // namespace

std::string plain_number(double number) {
  std::string digits = fmt::format("{}", number);
  // Four digits read well as they are, and years need it.
  if (std::abs(number) < 10000 || digits.find_first_of("eni") != std::string::npos) return digits;
  const auto point = std::min(digits.find('.'), digits.size());
  std::string whole = digits.substr(0, point);
  for (auto at = static_cast<std::ptrdiff_t>(whole.size()) - 3; at > (number < 0 ? 1 : 0); at -= 3)
    whole.insert(static_cast<std::size_t>(at), ",");
  return whole + digits.substr(point);
}

std::string figure_text(const std::string& name, const Json& value) {
  const NamedUnit named = split_unit(name);
  return fmt::format("{} {}", named.name, with_unit(value_text(value), named.unit));
}

std::string catalog_card(const std::string& kind, const Json& entry) {
  Card card(entry);
  for (const auto& [key, value] : entry.items()) {
    if (is_own_key(key)) continue;
    if ((key == "figures" || key == "labels" || key == "curves") && value.is_object()) {
      for (const auto& item : value.items()) card.figure(item.key(), item.value());
    } else {
      card.figure(key, value);
    }
  }
  std::string text = fmt::format("{} ({})\n", entry.value("id", ""), kind);
  if (const std::string note = entry.value("note", ""); !note.empty()) text += note + "\n";
  return text + "\n" + card.text();
}

}  // namespace stepcast
