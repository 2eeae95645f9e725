#include "calibration/importers/models/config_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace stepcast {

namespace {

constexpr std::size_t kLongEnough = 8;  ///< in names shorter than this another letter makes another name: bf16, fp16

bool is_digit_at(std::string_view text, std::size_t at) {
  return at < text.size() && text[at] >= '0' && text[at] <= '9';
}

/// Whether two neighbours changed places there, and that is all.
bool are_swapped(std::string_view written, std::string_view meant, std::size_t at) {
  return written.size() == meant.size() && at + 1 < meant.size() && written[at] == meant[at + 1] &&
         written[at + 1] == meant[at] && written.substr(at + 2) == meant.substr(at + 2);
}

}  // namespace

bool is_slip(std::string_view written, std::string_view meant) {
  if (written.empty() || meant.empty() || written == meant || written.front() != meant.front()) return false;
  std::size_t at = 0;
  while (at < written.size() && at < meant.size() && written[at] == meant[at]) ++at;
  if (are_swapped(written, meant, at)) return true;
  if (is_digit_at(written, at) || is_digit_at(meant, at)) return false;
  const auto rest = [at](std::string_view text, std::size_t skipped) {
    return text.substr(std::min(at + skipped, text.size()));
  };
  if (written.size() == meant.size() + 1) return rest(written, 1) == rest(meant, 0);
  if (meant.size() == written.size() + 1) return rest(written, 0) == rest(meant, 1);
  if (written.size() != meant.size()) return false;
  return rest(written, 1) == rest(meant, 1) && meant.size() >= kLongEnough;
}

bool ConfigReader::has(std::string_view key) const {
  const auto found = document_.find(std::string(key));
  return found != document_.end() && !found->is_null() && !(found->is_string() && *found == "auto");
}

const Json* ConfigReader::find(std::string_view key) {
  known_[std::string(key)] = true;
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
  for (const std::string_view key : keys) known_.emplace(key, false);
  for (const std::string_view key : keys)
    if (has(key)) return whole(key).value_or(0);
  const bool misspelt =
      std::any_of(keys.begin(), keys.end(), [&](std::string_view key) { return refuse_as(key, document_); });
  if (!misspelt) diagnostics_.error(child_pointer(pointer_, *keys.begin()), "missing");
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
  for (const std::string_view key : keys) known_.emplace(key, false);
}

void ConfigReader::ask(std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) known_[std::string(key)] = true;
}

/// Whether a key that nobody knows is the wanted one misspelt; then it is a fault.
bool ConfigReader::refuse_as(std::string_view wanted, const Json& stated) {
  if (stated.contains(std::string(wanted))) return false;
  for (const std::string& key : unknown()) {
    if (!is_slip(key, wanted)) continue;
    diagnostics_.error(child_pointer(pointer_, key), "unknown key", fmt::format("did you mean \"{}\"?", wanted));
    known_.emplace(key, false);
    return true;
  }
  return false;
}

void ConfigReader::refuse_misspelt(const Json& stated) {
  std::vector<std::string> wanted;
  for (const auto& [key, asked] : known_)
    if (asked) wanted.push_back(key);
  for (const std::string& key : wanted) refuse_as(key, stated);
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
