#include "calibration/probes/common/sizes.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>

#include "calibration/probes/common/fault.hpp"

namespace stepcast::probes {
namespace {

constexpr std::int64_t kMostBytes = std::int64_t{1} << 50;  // beyond any buffer; keeps products inside 64 bits
constexpr std::size_t kMostSizes = 10'000;

std::string shown(double value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

/// The sizes of one range, `first:last` with `*factor` or `+difference`.
void add_range(const std::string& text, std::size_t colon, std::vector<std::int64_t>& out) {
  const std::size_t step = text.find_first_of("*+", colon);
  const std::int64_t first = parse_bytes(text.substr(0, colon));
  const std::int64_t last = parse_bytes(text.substr(colon + 1, step - colon - 1));
  if (first < 1 || last < first) throw bad_input("sizes \"" + text + "\": the range is empty");
  const bool adds = step != std::string::npos && text[step] == '+';
  const std::string by = step == std::string::npos ? "2" : text.substr(step + 1);
  const std::int64_t amount = adds ? parse_bytes(by) : parse_integer(by, 2, 1024);
  if (amount < 1) throw bad_input("sizes \"" + text + "\": a step of 0");
  for (std::int64_t size = first; size <= last && out.size() <= kMostSizes; size = adds ? size + amount : size * amount)
    out.push_back(size);
}

}  // namespace

std::int64_t parse_bytes(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string unit(end, text.data() + text.size());
  const std::string units = "KMGT";
  double scale = 1;
  if (!unit.empty()) {
    const std::size_t power = units.find(unit[0] >= 'a' ? static_cast<char>(unit[0] - 'a' + 'A') : unit[0]);
    const std::string rest = unit.substr(1);
    if (power == std::string::npos || (!rest.empty() && rest != "iB" && rest != "B"))
      throw bad_input("\"" + text + "\" is no size; expected bytes as 64, 8K, 1M or 2G");
    scale = std::pow(1024.0, static_cast<double>(power + 1));
  }
  const double bytes = value * scale;
  if (error != std::errc() || !(bytes >= 0) || bytes > static_cast<double>(kMostBytes) || bytes != std::floor(bytes))
    throw bad_input("\"" + text + "\" is no size; expected bytes as 64, 8K, 1M or 2G");
  return static_cast<std::int64_t>(bytes);
}

std::vector<std::string> parse_words(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text + ",");
  for (std::string word; std::getline(in, word, ',');) {
    if (word.empty()) throw bad_input("\"" + text + "\" has an empty word in its list");
    out.push_back(word);
  }
  return out;
}

std::vector<std::string> parse_words(const std::string& text, const std::vector<std::string>& known) {
  std::vector<std::string> out = parse_words(text);
  for (const std::string& word : out)
    if (std::find(known.begin(), known.end(), word) == known.end())
      throw bad_input("no \"" + word + "\"; expected of " + listed(known));
  return out;
}

std::string listed(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out.append(out.empty() ? "" : ", ").append(word);
  return out;
}

std::vector<std::int64_t> parse_sizes(const std::string& text) {
  std::vector<std::int64_t> out;
  for (const std::string& word : parse_words(text)) {
    const std::size_t colon = word.find(':');
    if (colon == std::string::npos)
      out.push_back(parse_bytes(word));
    else
      add_range(word, colon, out);
  }
  if (out.size() > kMostSizes) throw bad_input("sizes \"" + text + "\": more than 10000");
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  if (out.front() < 1) throw bad_input("sizes \"" + text + "\": sizes begin at 1 byte");
  return out;
}

std::int64_t parse_integer(const std::string& text, std::int64_t least, std::int64_t most) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most)
    throw bad_input("\"" + text + "\" is no whole number from " + std::to_string(least) + " to " +
                    std::to_string(most));
  return value;
}

double parse_number(const std::string& text, double least, double most) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= least && value <= most))
    throw bad_input("\"" + text + "\" is no number from " + shown(least) + " to " + shown(most));
  return value;
}

}  // namespace stepcast::probes
