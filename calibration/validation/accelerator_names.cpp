#include "calibration/validation/accelerator_names.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <vector>

#include "fields/data_directory.hpp"
#include "fields/diagnostics.hpp"
#include "fields/plain_text.hpp"

namespace stepcast {

namespace {

using Words = std::set<std::string>;

/// Words that say who made a device, which its name says already, and "generation" and "edition", which NVIDIA puts
/// behind "Ada", "Server" and "Workstation".
constexpr std::array<std::string_view, 11> kMakers{"nvidia", "amd",      "intel",   "google",     "aws",    "habana",
                                                   "tesla",  "instinct", "geforce", "generation", "edition"};

/// Revisions of NVIDIA's module from Ampere on, which ids leave out ("sxm4" and "sxm5" are "sxm"), and a word that they
/// cut short.
std::string plain(const std::string& word) {
  if (word == "workstation") return "ws";
  return word == "sxm4" || word == "sxm5" || word == "sxm6" ? "sxm" : word;
}

std::vector<std::string> words_in(std::string_view text) {
  std::vector<std::string> out;
  std::string word;
  for (const char letter : lower_case(text) + " ") {
    if (std::isalnum(static_cast<unsigned char>(letter)) != 0) {
      word += letter;
    } else if (!word.empty()) {
      if (std::find(kMakers.begin(), kMakers.end(), word) == kMakers.end()) out.push_back(plain(word));
      word.clear();
    }
  }
  // "GB200 NVL72" is a rack of what "GB200" names; "H100 NVL" is a board.
  if (out.size() == 2 && out.front().starts_with("gb") && out.back().starts_with("nvl")) out.pop_back();
  return out;
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += word;
  return out;
}

/// Names by which nvidia-smi shows boards that say less than their ids, or something else: the board of H100 with HBM3
/// and 80 GB is the SXM one, H200 without "NVL" too, and 480 GB are of Grace.
struct Shown {
  std::string_view words, id;
};
constexpr std::array kShown{Shown{"h10080gbhbm3", "h100-sxm-80gb"}, Shown{"h200", "h200-sxm-141gb"},
                            Shown{"gh200480gb", "gh200-96gb"}};

struct Named {
  std::string id;
  Words words;
  std::string squeezed;  ///< all of them in a row, whatever stands between
  bool on_sale;          ///< of the shipped catalogue: what only tables of runs name is not meant by fewer words
};

std::vector<Named> read_names() {
  std::vector<Named> out;
  for (const char* folder : {"hardware-catalog/accelerators", "calibration/data/catalog/accelerators"})
    for (const auto& entry : std::filesystem::directory_iterator(data_directory(folder))) {
      const std::string id = entry.path().stem().string();
      // Half a board is not what a board's name means, nor a later version what the name without one does.
      const bool part = contains(id, "half") || contains(id, "gcd") || contains(id, "core") || contains(id, "-3e");
      const std::vector<std::string> words = words_in(id);
      out.push_back(
          {id, Words(words.begin(), words.end()), joined(words), contains(folder, "hardware-catalog") && !part});
    }
  std::sort(out.begin(), out.end(), [](const Named& a, const Named& b) { return a.id < b.id; });
  return out;
}

const std::vector<Named>& names() {
  static const std::vector<Named> kNames = read_names();
  return kNames;
}

/// The entries whose words hold all of the text's: one where it means one.
std::vector<std::string> meant(std::string_view text) {
  const std::vector<std::string> words = words_in(text);
  const Words stated(words.begin(), words.end());
  const std::string squeezed = joined(words);
  for (const Shown& shown : kShown)
    if (shown.words == squeezed) return {std::string(shown.id)};
  std::vector<std::string> out;
  for (const Named& one : names()) {
    if (one.words == stated || (!squeezed.empty() && one.squeezed == squeezed)) return {one.id};
    const bool holds = std::includes(one.words.begin(), one.words.end(), stated.begin(), stated.end());
    if (holds && one.on_sale && !stated.empty()) out.push_back(one.id);
  }
  return out;
}

/// Ids of devices that only tables of runs name and that have all of a text's words.
std::vector<std::string> longer_names(std::string_view text) {
  const std::vector<std::string> words = words_in(text);
  const Words stated(words.begin(), words.end());
  std::vector<std::string> out;
  for (const Named& one : names())
    if (!stated.empty() && std::includes(one.words.begin(), one.words.end(), stated.begin(), stated.end()))
      out.push_back(one.id);
  return out;
}

}  // namespace

bool is_accelerator(std::string_view id) {
  const auto found =
      std::lower_bound(names().begin(), names().end(), id, [](const Named& a, std::string_view b) { return a.id < b; });
  return found != names().end() && found->id == id;
}

std::string accelerator_of(std::string_view text) {
  if (is_accelerator(text)) return std::string(text);
  const std::vector<std::string> ids = meant(text);
  return ids.size() == 1 ? ids.front() : std::string(text);
}

std::string accelerator_hint(std::string_view text) {
  const std::vector<std::string> ids = meant(text);
  if (ids.size() == 1) return "";  // it names one, which lacks something else
  if (ids.size() > 1) return expected_one_of(ids);
  if (const std::vector<std::string> measured = longer_names(text); !measured.empty()) return expected_one_of(measured);
  // A model's number that is not known ("mi25") is another device, not a misspelt one.
  const std::string lower = lower_case(text);
  if (!contains(lower, "-")) return "";
  std::vector<std::string> all;
  for (const Named& one : names()) all.push_back(one.id);
  return did_you_mean(lower, all);
}

}  // namespace stepcast
