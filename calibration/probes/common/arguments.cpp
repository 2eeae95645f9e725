#include "calibration/probes/common/arguments.hpp"

#include <algorithm>
#include <numeric>
#include <set>

#include "calibration/probes/common/fault.hpp"

namespace stepcast::probes {
namespace {

/// Levenshtein's edit distance.
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

Arguments::Arguments(std::string program, std::string purpose)
    : program_(std::move(program)), purpose_(std::move(purpose)) {}

void Arguments::add(std::string name, std::string value, std::string help,
                    std::function<void(const std::string&)> set) {
  options_.push_back({std::move(name), std::move(value), std::move(help), std::move(set)});
}

bool Arguments::asks(int argc, const char* const* argv, const std::string& flag) {
  return std::any_of(argv + 1, argv + argc, [&](const char* word) { return word == flag; });
}

const Arguments::Option* Arguments::find(const std::string& name) const {
  const auto found = std::find_if(options_.begin(), options_.end(), [&](const Option& o) { return o.name == name; });
  return found == options_.end() ? nullptr : &*found;
}

std::string Arguments::nearest(const std::string& name) const {
  std::string best = "--help";
  for (const Option& option : options_)
    if (distance(name, option.name) < distance(name, best)) best = option.name;
  return best;
}

void Arguments::parse(int argc, const char* const* argv) const {
  std::string faults;
  std::set<std::string> given;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const Option* option = find(name);
    const auto fault = [&](const std::string& what) {
      faults.append(faults.empty() ? "" : "\n").append(name).append(": ").append(what);
    };
    if (!option) {
      fault("unknown; did you mean " + nearest(name) + "?");
      continue;
    }
    std::string value;
    if (equals != std::string::npos)
      value = word.substr(equals + 1);
    else if (!option->value.empty() && i + 1 < argc)
      value = argv[++i];
    if (option->value.empty() != value.empty()) {
      fault(option->value.empty() ? "takes no value" : "expects " + option->value);
      continue;
    }
    if (!given.insert(name).second) {
      fault("given twice");
      continue;
    }
    try {
      option->set(value);
    } catch (const Fault& refusal) {
      fault(refusal.what());
    }
  }
  if (!faults.empty()) throw bad_input(faults);
}

std::string Arguments::help() const {
  std::string out = program_ + ": " + purpose_ + "\n\n";
  std::size_t width = 0;
  const auto left = [](const Option& o) { return "  " + o.name + (o.value.empty() ? "" : " " + o.value); };
  for (const Option& option : options_) width = std::max(width, left(option).size());
  for (const Option& option : options_) {
    const std::string begin = left(option);
    out += begin + std::string(width + 2 - begin.size(), ' ') + option.help + "\n";
  }
  out +=
      "\nExit codes: 0 done, 1 wrong data or a failed call, 2 bad input, 3 hardware or library missing, 4 internal.\n";
  return out;
}

}  // namespace stepcast::probes
