#include "fields/diagnostics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <numeric>
#include <utility>

#include "fields/json_text.hpp"

namespace stepcast {

namespace {

std::string joined(const std::vector<Fault>& faults) {
  std::string text;
  for (const Fault& fault : faults) {
    if (!text.empty()) text += '\n';
    text += fault.text();
  }
  return text;
}

/// What a file or an argument says may hold line ends and terminal commands; a fault is one plain line.
std::string printable(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      out += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\u{:04x}", byte);
    } else {
      out += c;
    }
  }
  return out;
}

/// Edit distance with transpositions (optimal string alignment), ignoring case.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  const auto same = [&](std::size_t i, std::size_t j) {
    return std::tolower(static_cast<unsigned char>(a[i])) == std::tolower(static_cast<unsigned char>(b[j]));
  };
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(last.begin(), last.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same(i - 1, j - 1) ? 0 : 1)});
      if (i > 1 && j > 1 && same(i - 1, j - 2) && same(i - 2, j - 1)) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

/// Numbers that a name holds: 2 and 70 of "llama2-70b".
std::vector<std::string_view> numbers_in(std::string_view name) {
  constexpr std::string_view kDigits = "0123456789";
  std::vector<std::string_view> out;
  for (std::size_t at = name.find_first_of(kDigits); at != std::string_view::npos;) {
    const std::size_t end = std::min(name.find_first_not_of(kDigits, at), name.size());
    out.push_back(name.substr(at, end - at));
    at = name.find_first_of(kDigits, end);
  }
  return out;
}

/// Whether a candidate lacks a number of what was wanted, in whatever order of its digits. Of two that are as near by
/// their letters, it is the farther one: sizes and versions are seldom mistyped otherwise.
bool lacks_a_number(std::string_view wanted, std::string_view candidate) {
  const auto stated = numbers_in(candidate);
  const auto lacks = [&](std::string_view number) {
    return std::ranges::none_of(stated,
                                [&](std::string_view other) { return std::ranges::is_permutation(number, other); });
  };
  return std::ranges::any_of(numbers_in(wanted), lacks);
}

}  // namespace

std::string Fault::text() const {
  std::string out = file;
  if (!pointer.empty()) out += (out.empty() ? "" : ": ") + pointer;
  out += (out.empty() ? "" : ": ") + message;
  if (!suggestion.empty()) out += "; " + suggestion;
  return printable(out);
}

InputError::InputError(std::vector<Fault> faults) : faults_(std::move(faults)), text_(joined(faults_)) {}

void Diagnostics::error(std::string pointer, std::string message, std::string suggestion) {
  faults_.push_back({file_, std::move(pointer), std::move(message), std::move(suggestion)});
}

void Diagnostics::unknown_key(const std::string& object, std::string_view owner, const std::string& key,
                              const std::vector<std::string>& known, const std::vector<std::string>& given) {
  constexpr std::size_t kLongestShown = 60;
  const std::string shown = key.size() > kLongestShown ? key.substr(0, kLongestShown) + "…" : key;
  error(child_pointer(object, key), fmt::format("{} has no key \"{}\"", owner, shown), nearest_choice(key, known));
  const std::string* right = nearest(key, known);
  if (right != nullptr && std::find(given.begin(), given.end(), *right) == given.end())
    faults_.back().meant = child_pointer(object, *right);
}

bool Diagnostics::meant(std::string_view pointer) const {
  return std::any_of(faults_.begin(), faults_.end(), [&](const Fault& fault) { return fault.meant == pointer; });
}

void Diagnostics::add(std::vector<Fault> faults) {
  faults_.insert(faults_.end(), std::make_move_iterator(faults.begin()), std::make_move_iterator(faults.end()));
}

void Diagnostics::throw_if_faulty() const {
  if (!faults_.empty()) throw InputError(faults_);
}

const std::string* nearest(std::string_view wanted, const std::vector<std::string>& candidates) {
  constexpr std::size_t kLongestCompared = 128;
  if (wanted.size() > kLongestCompared) return nullptr;
  const std::string* best = nullptr;
  // A third of the word may be wrong; a part of the name counts as one mistake. Short words must be of about equal
  // length: "no" is not what "nope" means.
  constexpr std::size_t kShort = 5;
  std::pair<std::size_t, bool> limit{std::max<std::size_t>(2, wanted.size() / 3) + 1, false};
  for (const std::string& candidate : candidates) {
    if (wanted.size() < kShort && candidate.size() + 1 < wanted.size()) continue;
    const bool part = wanted.size() >= 3 && candidate.find(wanted) != std::string::npos;
    const std::size_t letters = edit_distance(wanted, candidate);
    const std::pair distance{part ? std::min<std::size_t>(1, letters) : letters, lacks_a_number(wanted, candidate)};
    if (distance < limit) {
      limit = distance;
      best = &candidate;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view wanted, const std::vector<std::string>& candidates) {
  const std::string* meant = nearest(wanted, candidates);
  return meant ? fmt::format("did you mean \"{}\"?", *meant) : std::string{};
}

std::string expected_one_of(const std::vector<std::string>& candidates) {
  constexpr std::size_t kMost = 12;
  std::string text = "expected one of ";
  for (std::size_t i = 0; i < std::min(kMost, candidates.size()); ++i) text += (i ? ", " : "") + candidates[i];
  if (candidates.size() > kMost) text += fmt::format(" … ({} in all)", candidates.size());
  return text;
}

std::string nearest_choice(std::string_view wanted, const std::vector<std::string>& candidates) {
  const std::string meant = did_you_mean(wanted, candidates);
  return meant.empty() ? expected_one_of(candidates) : meant;
}

}  // namespace stepcast
