#include "calibration/fit/training/profile_writer.hpp"

#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <stdexcept>

#include "fields/rounded.hpp"

namespace stepcast {

namespace {

using OrderedJson = nlohmann::ordered_json;

std::filesystem::path file_of(ProfileKind kind, const std::string& id, const std::filesystem::path& tree) {
  return tree / (kind == ProfileKind::compute ? "hardware-catalog/compute-profiles" : "models/frameworks/profiles") /
         (id + ".json");
}

/// The node of `key` or `map.entry`.
OrderedJson& at(OrderedJson& profile, const std::string& key) {
  const std::size_t slash = key.find('.');
  OrderedJson& entry = profile.at(key.substr(0, slash));
  return slash == std::string::npos ? entry : entry[key.substr(slash + 1)];
}

/// Arrays and small maps of numbers on one line, as the files are written by hand.
std::string compact(const std::string& text) {
  static const std::regex kFlat(R"(([\[{])\n\s+([^\[\]{}]*?)\n\s+([\]}]))");
  std::string out;
  auto from = text.begin();
  for (std::sregex_iterator it(text.begin(), text.end(), kFlat), end; it != end; ++it) {
    const std::string inside = std::regex_replace((*it)[2].str(), std::regex(R"(\n\s+)"), " ");
    out.append(from, text.begin() + it->position());
    from = text.begin() + it->position() + it->length();
    const bool flat = inside.size() <= 140 && inside.find(": \"") == std::string::npos;
    out += flat ? (*it)[1].str() + inside + (*it)[3].str() : it->str();
  }
  return out.append(from, text.end());
}

void set_value(OrderedJson& profile, const TrainingConstant& constant, double value, double deviation, bool told,
               const FitProvenance& provenance) {
  const double times = constant.times.empty() ? 1 : at(profile, constant.times).get<double>();
  const std::string own = fmt::format(
      "stepcast-fit-training {}, data {}, {} runs: {} {:.3g}, 68 % interval {:.3g} to {:.3g}; prior {:.3g}: {}",
      provenance.date, provenance.data_hash, provenance.runs, constant.name, value, value * std::exp(-deviation),
      value * std::exp(deviation), constant.prior, constant.source);
  for (const std::string& key : constant.keys) {
    at(profile, key) = rounded(value * times, 3);
    profile["sources"][key] = own;
    profile["evidence"][key] = told ? "measured" : "estimated";
  }
}

OrderedJson read_profile(const std::filesystem::path& file) {
  std::ifstream in(file);
  if (!in) throw std::runtime_error(fmt::format("{}: no such profile", file.string()));
  return OrderedJson::parse(in);
}

void write_profile(const std::filesystem::path& file, const OrderedJson& profile) {
  std::ofstream(file) << compact(profile.dump(2)) << "\n";
}

/// Frameworks without runs of their own say whose figures they take over: they get what those are now. True when one
/// changed.
bool follow_others(const std::filesystem::path& tree) {
  static const std::regex kFrom("taken over from ([a-z0-9.-]+).*");
  bool changed = false;
  for (const auto& entry : std::filesystem::directory_iterator(tree / "models/frameworks/profiles")) {
    OrderedJson profile = read_profile(entry.path()), before = profile;
    if (!profile.contains("sources")) continue;
    for (const auto& [key, source] : before["sources"].items()) {
      std::smatch from;
      const std::string text = source.get<std::string>();
      if (std::regex_match(text, from, kFrom))
        profile.at(key) = read_profile(file_of(ProfileKind::framework, from[1], tree)).at(key);
    }
    if (profile == before) continue;
    write_profile(entry.path(), profile);
    changed = true;
  }
  return changed;
}

}  // namespace

void write_training_profiles(const std::vector<TrainingConstant>& constants, const PriorFit& fit,
                             const FitProvenance& provenance, const std::filesystem::path& tree) {
  std::vector<double> spreads;
  for (const TrainingConstant& constant : constants) spreads.push_back(constant.spread);
  const std::vector<bool> told = told_by_rows(spreads, fit);
  for (std::size_t i = 0; i < constants.size(); ++i) {
    for (const std::string& id : constants[i].profiles) {
      const auto file = file_of(constants[i].kind, id, tree);
      OrderedJson profile = read_profile(file);
      set_value(profile, constants[i], fit.values[i], fit.deviations[i], told[i], provenance);
      write_profile(file, profile);
    }
  }
  while (follow_others(tree)) {
    // Some follow those that follow.
  }
}

}  // namespace stepcast
