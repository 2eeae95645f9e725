#include "calibration/importers/measured/power_redfish.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "calibration/importers/measured/moment.hpp"
#include "calibration/importers/measured/rows.hpp"
#include "calibration/importers/text_file.hpp"
#include "fields/plain_text.hpp"

namespace stepcast {

namespace {

constexpr int kDeepestRedfish = 32;

/// A document, and what stands between it and the one before.
struct Answer {
  std::string_view before, text;
};

/// Documents after one another, as a loop that asks again and again leaves them.
std::vector<Answer> documents_of(std::string_view text) {
  std::vector<Answer> out;
  std::size_t end = 0;
  int depth = 0;
  bool quoted = false;
  std::size_t start = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (quoted) {
      if (text[i] == '\\')
        ++i;
      else if (text[i] == '"')
        quoted = false;
    } else if (text[i] == '"') {
      quoted = true;
    } else if (text[i] == '{' || text[i] == '[') {
      if (depth++ == 0) start = i;
    } else if (text[i] == '}' || text[i] == ']') {
      if (depth == 0 || --depth > 0) continue;
      out.push_back({text.substr(end, start - end), text.substr(start, i + 1 - start)});
      end = i + 1;
    }
  }
  if (depth > 0) out.push_back({text.substr(end, start - end), text.substr(start)});
  return out;
}

/// The time that a loop printed before its answer.
std::optional<double> time_before(std::string_view text) {
  const std::string_view between = trimmed(text);
  const auto moment = between.empty() ? std::nullopt : moment_of(between);
  return moment ? moment : calendar_moment_of(between);
}

/// A number, or a text that is one: values of metric reports are texts.
std::optional<double> number_in(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) return std::nullopt;
  if (found->is_number()) return found->get<double>();
  return found->is_string() ? number_of(trimmed(found->get_ref<const std::string&>())) : std::nullopt;
}

std::optional<double> reading_in(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_object() ? number_in(*found, "Reading") : std::nullopt;
}

/// Parts of a path that say what is read and not of what.
bool is_of_reading(std::string_view part) {
  for (const std::string_view one :
       {"Reading", "PowerConsumedWatts", "PowerWatts", "PowerInputWatts", "PowerOutputWatts", "InputPowerWatts",
        "OutputPowerWatts", "LastPowerOutputWatts", "EnvironmentMetrics", "Metrics"})
    if (part == one) return true;
  return false;
}

std::vector<std::string> path_parts_of(std::string_view path) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find_first_of("/#", at), path.size());
    if (end > at) out.emplace_back(path.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

/// What a path of Redfish is of: `/redfish/v1/Chassis/Tray_1/Power#/PowerControl/0/PowerConsumedWatts` → Tray_1
/// PowerControl 0, `…/Sensors/Total/Reading` → Total.
std::string owner_of(std::string_view path) {
  std::vector<std::string> parts = path_parts_of(path);
  while (!parts.empty() && is_of_reading(parts.back())) parts.pop_back();
  if (parts.empty()) return {};
  if (number_of(parts.back()) && parts.size() >= 2) {
    std::string out = parts[parts.size() - 2] + " " + parts.back();
    const auto chassis = std::find(parts.begin(), parts.end(), "Chassis");
    return parts.end() - chassis > 2 ? *(chassis + 1) + " " + out : out;
  }
  return parts.back();
}

/// `HGX_GPU_SXM_1_Power_0`, `GPU_0` → gpu-sxm-1, gpu0; other names as they are: sensors of a GPU's parts, sums.
std::string device_name(const std::string& name) {
  std::string low = lower_case(name);
  std::replace(low.begin(), low.end(), '_', '-');
  std::replace(low.begin(), low.end(), ' ', '-');
  if (low.starts_with("hgx-")) low.erase(0, 4);
  for (const std::string_view end : {"-power-0", "-power"})
    if (low.ends_with(end)) low.erase(low.size() - end.size());
  for (const std::string_view begin : {"gpu-sxm-", "gpu-", "gpu"}) {
    if (!low.starts_with(begin)) continue;
    const std::string number = low.substr(begin.size());
    if (number.empty() || number.find_first_not_of("0123456789") != std::string::npos) break;
    return begin == "gpu-sxm-" ? low : "gpu" + number;
  }
  return name;
}

/// `SystemInputPower` → system_input_power: its words, of which `min` is none.
std::string words_of_name(std::string_view name) {
  std::string out;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool capital = name[i] >= 'A' && name[i] <= 'Z';
    if (capital && i > 0 && name[i - 1] >= 'a' && name[i - 1] <= 'z') out += '_';
    out += name[i];
  }
  return lower_case(out);
}

class RedfishReader {
 public:
  RedfishReader(PowerSeries& series, ResultsBuilder& results) : series_(series), results_(results) {}

  void read(const Json& value, std::optional<double> seconds, int depth) {
    if (depth > kDeepestRedfish) return;
    if (value.is_array())
      for (const Json& inner : value) read(inner, seconds, depth + 1);
    if (!value.is_object()) return;
    seconds = time_in(value, seconds);
    for (const char* key : {"host", "hostname", "Hostname", "bmc"})
      if (const std::string host = words(value, key); !host.empty()) host_ = host;
    if (value.contains("@odata.id") && value.size() == 1 && value["@odata.id"].is_string()) {
      if (links_.size() < 3) links_.insert(value["@odata.id"].get<std::string>());
      return;
    }
    read_sensor(value, seconds);
    read_environment(value, seconds);
    for (const auto& [key, inner] : value.items()) {
      if (key == "PowerControl" && inner.is_object())
        read_controls(Json::array({inner}), seconds);
      else if (key == "PowerControl" && inner.is_array())
        read_controls(inner, seconds);
      else if (key == "PowerSupplies" && inner.is_array())
        read_supplies(inner, seconds);
      else if (key == "MetricValues" && inner.is_array())
        read_report(value, inner, seconds);
      else
        read(inner, seconds, depth + 1);
    }
  }

  /// What it refers to; empty where it has all.
  [[nodiscard]] std::string links() const {
    return links_.empty() ? "" : fmt::format("it refers to {}: save what that answers", *links_.begin());
  }

 private:
  static std::optional<double> time_in(const Json& object, std::optional<double> otherwise) {
    for (const char* key : {"Timestamp", "ReadingTime", "DateTime", "timestamp", "time", "date"}) {
      const auto found = object.find(key);
      if (found == object.end()) continue;
      const auto moment = found->is_string()   ? moment_of(found->get_ref<const std::string&>())
                          : found->is_number() ? moment_of(found->dump())
                                               : std::nullopt;
      if (moment) return moment;
    }
    return otherwise;
  }

  void add(const std::string& name, const std::string& key, std::optional<double> seconds, double value,
           PowerColumn column = PowerColumn::watts) {
    const std::string part = device_name(name.empty() ? "node" : name);
    const std::string device = host_.empty() ? part : part + "@" + host_;
    // Members of two chassis may be called alike.
    const auto known = keys_.emplace(device, key);
    const std::string whole = known.first->second == key ? device : fmt::format("{} ({})", device, key);
    series_.take(whole, PowerMetric{column}, seconds, value);
  }

  std::string key_of(const Json& object, const std::string& otherwise) const {
    const std::string id = words(object, "@odata.id");
    return id.empty() ? otherwise : id;
  }

  /// Their names, with the id of the member where several are called alike.
  std::vector<std::string> names_in(const Json& members) const {
    std::vector<std::string> names;
    for (const Json& member : members) names.push_back(words(member, "Name"));
    std::vector<std::string> out = names;
    for (std::size_t i = 0; i < members.size(); ++i)
      if (std::count(names.begin(), names.end(), names[i]) > 1 || names[i].empty()) {
        const std::string id =
            words(members[i], "MemberId").empty() ? std::to_string(i) : words(members[i], "MemberId");
        out[i] += (names[i].empty() ? "" : " ") + id;
      }
    return out;
  }

  void read_controls(const Json& controls, std::optional<double> seconds) {
    const std::vector<std::string> names = names_in(controls);
    for (std::size_t i = 0; i < controls.size(); ++i) {
      const Json& one = controls[i];
      if (!one.is_object()) continue;
      const std::string key = key_of(one, names[i]);
      if (const auto watts = number_in(one, "PowerConsumedWatts"))
        add(names[i], key, seconds, *watts);
      else if (one.contains("PowerConsumedWatts"))
        ++silent_;
      const auto limit = one.find("PowerLimit");
      if (limit == one.end() || !limit->is_object()) continue;
      if (const auto watts = number_in(*limit, "LimitInWatts")) add(names[i], key, seconds, *watts, PowerColumn::limit);
    }
  }

  void read_supplies(const Json& supplies, std::optional<double> seconds) {
    const std::vector<std::string> names = names_in(supplies);
    for (std::size_t i = 0; i < supplies.size(); ++i) {
      const Json& one = supplies[i];
      if (!one.is_object()) continue;
      const std::string key = key_of(one, names[i]);
      const auto input = number_in(one, "PowerInputWatts");
      auto output = number_in(one, "PowerOutputWatts");
      if (!output) output = number_in(one, "LastPowerOutputWatts");
      if (input)
        add(names[i] + " input", key, seconds, *input);
      else if (output)
        add(names[i] + " output", key, seconds, *output);
      else
        read(one, seconds, 1);
    }
  }

  void read_sensor(const Json& object, std::optional<double> seconds) {
    const std::string type = words(object, "ReadingType"), unit = words(object, "ReadingUnits");
    const auto scale = watts_in(unit);
    if (type != "Power" && !(type.empty() && scale)) return;
    const std::string id = words(object, "Id"), name = words(object, "Name");
    const auto reading = number_in(object, "Reading");
    if (!reading) return void(++silent_);
    if (!unit.empty() && !scale)
      return results_.warn(fmt::format("{}: power in {} and not in W was left out", shown(id), shown(unit)));
    add(id.empty() ? name : id, key_of(object, id), seconds, *reading * scale.value_or(1));
  }

  /// Excerpts of sensors: EnvironmentMetrics of a part, and the metrics of a power supply.
  void read_environment(const Json& object, std::optional<double> seconds) {
    const std::string path = words(object, "@odata.id");
    const std::string owner = path.empty() ? words(object, "Name") : owner_of(path);
    if (const auto watts = reading_in(object, "PowerWatts")) {
      add(owner, path, seconds, *watts);
      if (const auto celsius = reading_in(object, "TemperatureCelsius"))
        add(owner, path, seconds, *celsius, PowerColumn::temperature);
      const auto limit = object.find("PowerLimitWatts");
      if (limit != object.end() && limit->is_object())
        if (const auto watt = number_in(*limit, "SetPoint")) add(owner, path, seconds, *watt, PowerColumn::limit);
    }
    if (const auto input = reading_in(object, "InputPowerWatts"))
      add(owner + " input", path, seconds, *input);
    else if (const auto output = reading_in(object, "OutputPowerWatts"))
      add(owner + " output", path, seconds, *output);
  }

  static bool is_power(const std::string& id, const std::string& property) {
    const std::string low = words_of_name(id.empty() ? property : id), path = words_of_name(property);
    if (is_bound_or_state(low) || contains(low, "energy") || contains(low, "brake") || contains(path, "energy"))
      return false;
    return contains(low, "power") || contains(low, "pwr") || contains(low, "watts") || contains(path, "watts");
  }

  void read_report(const Json& report, const Json& values, std::optional<double> seconds) {
    for (const Json& one : values) {
      if (!one.is_object()) continue;
      const std::string id = words(one, "MetricId"), property = words(one, "MetricProperty");
      if (!is_power(id, property)) continue;
      auto value = number_in(one, "MetricValue");
      if (!value) {
        ++silent_;
        continue;
      }
      const std::string unit = words(one, "Units");
      *value *= watts_in(unit).value_or(1);
      // Dell's reports say in a section of their own what a value is of.
      const Json oem = one.value("/Oem/Dell"_json_pointer, Json::object());
      const std::string context = words(oem, "ContextID");
      std::string name = owner_of(property);
      if (name.empty()) name = context.empty() ? id : fmt::format("{} {}", context, id);
      add(name, property.empty() ? fmt::format("{}/{}", context, id) : property, time_in(one, seconds), *value);
    }
    if (values.empty()) results_.warn(fmt::format("report {} has no values", shown(words(report, "Id"))));
  }

 public:
  [[nodiscard]] std::size_t silent() const { return silent_; }

 private:
  PowerSeries& series_;
  ResultsBuilder& results_;
  std::string host_;                         ///< that a collector wrote beside an answer; the last one seen
  std::map<std::string, std::string> keys_;  ///< what a device's name was first used for
  std::set<std::string> links_;
  std::size_t silent_ = 0;  ///< readings that are null, as of a part without power
};

}  // namespace

bool is_redfish(std::string_view text) {
  const std::string_view start = trimmed(text);
  if (start.starts_with('{') || start.starts_with('[')) return true;
  return contains(text, "\"@odata.") && contains(text, "{");
}

std::string read_redfish(std::string_view text, PowerSeries& series, ResultsBuilder& results,
                         Diagnostics& diagnostics) {
  const std::vector<Answer> documents = documents_of(text);
  RedfishReader reader(series, results);
  for (std::size_t i = 0; i < documents.size(); ++i) {
    Diagnostics syntax("");
    const Json document = parse_json(documents[i].text, syntax);
    if (syntax.ok()) {
      reader.read(document, time_before(documents[i].before), 0);
    } else if (i > 0 && i + 1 == documents.size()) {
      results.warn("the last document is cut and was left out");
    } else {
      diagnostics.error(line_and_column(text, static_cast<std::size_t>(documents[i].text.data() - text.data())),
                        "is no JSON: " + syntax.faults().front().message);
      return {};
    }
  }
  if (reader.silent() > 0) results.warn(fmt::format("readings that are no numbers were left out: {}", reader.silent()));
  return reader.links();
}

}  // namespace stepcast
