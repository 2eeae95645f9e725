#include "calibration/importers/models/config_reader.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace stepcast {

bool ConfigReader::has(std::string_view key) const {
  const auto found = document_.find(std::string(key));
  return found != document_.end() && !found->is_null() && !(found->is_string() && *found == "auto");
}

const Json* ConfigReader::find(std::string_view key) {
  known_.emplace(key);
  return has(key) ? &document_.at(std::string(key)) : nullptr;
}

void ConfigReader::wrong(std::string_view key, const Json& found, std::string_view expected) {
  diagnostics_.error(child_pointer(pointer_, key), fmt::format("found {}, expected {}", describe(found), expected));
}

std::optional<int> ConfigReader::whole(std::string_view key, int least) {
  const Json* value = find(key);
  if (!value) return std::nullopt;
  const double number = value->is_number() ? value->get<double>() : std::nan("");
  if (!(number >= least) || number > std::numeric_limits<int>::max() || number != std::floor(number)) {
    constexpr int kMost = std::numeric_limits<int>::max();
    wrong(key, *value,
          number > kMost ? fmt::format("a whole number from {} to {}", least, kMost)
                         : fmt::format("a whole number of at least {}", least));
    return std::nullopt;
  }
  return static_cast<int>(number);
}

int ConfigReader::required(std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) known_.emplace(key);
  for (const std::string_view key : keys)
    if (has(key)) return whole(key).value_or(0);
  diagnostics_.error(child_pointer(pointer_, *keys.begin()), "missing");
  return 0;
}

std::optional<double> ConfigReader::number(std::string_view key) {
  const Json* value = find(key);
  if (!value) return std::nullopt;
  if (!value->is_number() || !std::isfinite(value->get<double>())) {
    wrong(key, *value, "a number");
    return std::nullopt;
  }
  return value->get<double>();
}

bool ConfigReader::flag(std::string_view key, bool otherwise) {
  const Json* value = find(key);
  if (!value) return otherwise;
  if (!value->is_boolean()) {
    wrong(key, *value, "true or false");
    return otherwise;
  }
  return value->get<bool>();
}

std::string ConfigReader::text(std::string_view key) {
  const Json* value = find(key);
  if (!value) return {};
  if (!value->is_string()) {
    wrong(key, *value, "a string");
    return {};
  }
  return value->get<std::string>();
}

void ConfigReader::ignore(std::span<const std::string_view> keys) {
  for (const std::string_view key : keys) known_.emplace(key);
}

std::vector<std::string> ConfigReader::unknown() const {
  std::vector<std::string> out;
  for (const auto& [key, value] : document_.items())
    if (!known_.contains(key)) out.push_back(key);
  return out;
}

std::string unknown_note(const std::vector<std::string>& keys) {
  std::string out;
  for (const std::string& key : keys) out += (out.empty() ? "unknown keys, not used: " : ", ") + key;
  return out;
}

}  // namespace stepcast
