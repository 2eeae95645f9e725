#include "calibration/fit/cluster/measured_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

namespace stepcast {

namespace {

/// Letters and digits that stand together, in lower case: "a100", "sxm4" and "80gb" of "A100-SXM4-80GB".
std::vector<std::string> words_of_name(const std::string& name) {
  std::vector<std::string> out(1);
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0) {
      out.back() += static_cast<char>(std::tolower(byte));
    } else if (!out.back().empty()) {
      out.emplace_back();
    }
  }
  return out;
}

/// What tells a chip from others: the first word of its id with a digit, "a100" of a100-sxm-80gb.
std::string chip_of(const std::string& id) {
  for (const std::string& word : words_of_name(id))
    if (std::any_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; })) return word;
  return id;
}

}  // namespace

void refuse_other_devices(const std::vector<ProbeResults>& files, const std::string& node,
                          const Accelerator& accelerator, const Catalog& catalog) {
  std::set<std::string> chips;
  for (const std::string& id : catalog.ids("accelerators")) chips.insert(chip_of(id));
  std::vector<Fault> faults;
  for (const ProbeResults& file : files) {
    const Json& environment = file.document["environment"];
    const auto named = environment.find("accelerator");
    if (named == environment.end() || !named->is_string()) continue;
    const std::vector<std::string> words = words_of_name(named->get<std::string>());
    const auto has = [&](const std::string& chip) {
      return std::find(words.begin(), words.end(), chip) != words.end();
    };
    if (has(chip_of(accelerator.id)) || std::none_of(chips.begin(), chips.end(), has)) continue;
    faults.push_back(
        {file.file, "/environment/accelerator",
         fmt::format("was measured on \"{}\", and {} has {}", named->get<std::string>(), node, accelerator.id),
         "--node: name the node that was measured"});
  }
  if (!faults.empty()) throw InputError(std::move(faults));
}

}  // namespace stepcast
