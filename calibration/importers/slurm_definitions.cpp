#include "calibration/importers/slurm_definitions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "calibration/importers/hostlist.hpp"
#include "calibration/importers/text_file.hpp"

namespace stepcast {

namespace {

constexpr std::size_t kMostSwitches = 20000;

/// `line 3`, or the pointer.
std::string named(const SlurmPlace& place) {
  return place.line > 0 ? fmt::format("on line {}", place.line) : "at " + place.pointer;
}

}  // namespace

void SlurmDefinitions::add_switch(const SlurmPlace& place, const std::string& name,
                                  const std::optional<std::string>& nodes, const std::optional<std::string>& switches) {
  has_switches_ = true;
  if (!is_name(place, name, "switch")) return;
  add({place, name, names(place, nodes), names(place, switches)});
}

void SlurmDefinitions::leave_out_empty_switches() {
  std::map<std::string, std::vector<std::size_t>> above;
  std::vector<std::size_t> left(list_.size()), open;
  for (std::size_t i = 0; i < list_.size(); ++i) {
    left[i] = list_[i].hosts.size() + list_[i].switches.size();
    for (const std::string& name : list_[i].switches) above[name].push_back(i);
    if (left[i] == 0) open.push_back(i);
  }
  for (std::size_t taken = 0; taken < open.size(); ++taken)
    for (const std::size_t parent : above[list_[open[taken]].name])
      if (--left[parent] == 0) open.push_back(parent);
  if (open.empty()) return;
  std::set<std::string> empty;
  std::sort(open.begin(), open.end());
  for (const std::size_t i : open) empty_switches_.push_back(list_[i].name);
  empty.insert(empty_switches_.begin(), empty_switches_.end());
  const auto is_empty = [&](const std::string& name) { return empty.contains(name); };
  std::erase_if(list_, [&](const SlurmDefinition& one) { return is_empty(one.name); });
  index_.clear();
  for (std::size_t i = 0; i < list_.size(); ++i) {
    std::erase_if(list_[i].switches, is_empty);
    index_.emplace(list_[i].name, static_cast<int>(i));
  }
}

void SlurmDefinitions::add_block(const SlurmPlace& place, const std::string& name,
                                 const std::optional<std::string>& nodes) {
  has_blocks_ = true;
  if (!is_name(place, name, "block")) return;
  if (!nodes || nodes->empty()) return empty_blocks_.push_back(name);
  if (blocks_.size() >= kMostSwitches) return fault(place, fmt::format("more than {} blocks", kMostSwitches));
  blocks_.push_back({place, name, names(place, nodes), {}});
}

void SlurmDefinitions::take_blocks_as_switches() {
  for (const SlurmDefinition& block : blocks_) add(block);
}

bool SlurmDefinitions::add_block_size(const SlurmPlace& place, std::string_view text) {
  const std::optional<int> size = whole_number(text);
  if (size && *size > 0) return block_sizes_.push_back(*size), true;
  fault(place, fmt::format("block size {} is no number above zero", shown(text)));
  return false;
}

void SlurmDefinitions::fault(const SlurmPlace& place, const std::string& message, std::string suggestion) {
  diagnostics_.error(place.pointer, place.line > 0 ? fmt::format("line {}: {}", place.line, message) : message,
                     std::move(suggestion));
}

void SlurmDefinitions::refuse_plugin(const SlurmPlace& place, std::string_view what, std::string_view plugin,
                                     std::string suggestion) {
  fault(place, fmt::format("describes {} of hosts (topology/{}), which is not read", what, plugin),
        std::move(suggestion));
}

std::vector<std::string> SlurmDefinitions::notes() const {
  std::vector<std::string> out = notes_;
  if (!empty_blocks_.empty())
    out.push_back(fmt::format("blocks without hosts were left out: {}", compress_hostlist(empty_blocks_)));
  if (!empty_switches_.empty())
    out.push_back(fmt::format("switches without hosts were left out: {}", compress_hostlist(empty_switches_)));
  return out;
}

int SlurmDefinitions::find(const std::string& name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? -1 : found->second;
}

std::string SlurmDefinitions::join(const std::string& name, std::vector<std::string> switches) {
  std::string own = name;
  while (!index_.emplace(own, static_cast<int>(list_.size())).second) own += "+";
  list_.push_back({{}, own, {}, std::move(switches)});
  return own;
}

std::vector<std::string> SlurmDefinitions::names(const SlurmPlace& place,
                                                 const std::optional<std::string>& expression) {
  if (!expression || expression->empty()) return {};
  try {
    std::vector<std::string> out = expand_hostlist(*expression, kMostHosts - std::min(kMostHosts - 1, names_));
    names_ += out.size();
    return out;
  } catch (const std::invalid_argument& error) {
    fault(place, fmt::format("host list {}: {}", shown(*expression), error.what()));
    return {};
  }
}

bool SlurmDefinitions::is_name(const SlurmPlace& place, const std::string& name, const char* what) {
  if (name.empty()) return fault(place, "the name is empty"), false;
  if (name.find_first_of("[],") != std::string::npos)
    return fault(place, fmt::format("{} is no name of one {}", shown(name), what)), false;
  return true;
}

void SlurmDefinitions::add(SlurmDefinition definition) {
  if (list_.size() >= kMostSwitches)
    return fault(definition.place, fmt::format("more than {} switches", kMostSwitches));
  const auto [known, fresh] = index_.emplace(definition.name, static_cast<int>(list_.size()));
  if (!fresh)
    return fault(definition.place, fmt::format("{} is defined a second time, first {}", shown(definition.name),
                                               named(list_[static_cast<std::size_t>(known->second)].place)));
  list_.push_back(std::move(definition));
}

}  // namespace stepcast
