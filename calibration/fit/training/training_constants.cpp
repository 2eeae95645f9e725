#include "calibration/fit/training/training_constants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "fields/json_text.hpp"

namespace stepcast {

namespace {

/// Key of an entry, and what it is called in a map.
struct KeyPath {
  std::string key, entry;
};

KeyPath path_of(const std::string& key) {
  const std::size_t slash = key.find('.');
  return slash == std::string::npos ? KeyPath{key, ""} : KeyPath{key.substr(0, slash), key.substr(slash + 1)};
}

template <class T>
const typename FieldTable<T>::Entry& entry_of(const std::string& key) {
  for (const auto& entry : T::fields().entries())
    if (entry.key == key) return entry;
  throw std::logic_error(fmt::format("{} has no key {}", T::fields().name(), key));
}

template <class T>
double value_of(const std::string& key, const T& profile) {
  const KeyPath path = path_of(key);
  const Json found = entry_of<T>(path.key).write(profile);
  return path.entry.empty() ? found.template get<double>() : found.at(path.entry).template get<double>();
}

template <class T>
void set_key(const std::string& key, double value, T& profile) {
  const KeyPath path = path_of(key);
  const auto& entry = entry_of<T>(path.key);
  Json changed = value;
  if (!path.entry.empty()) {
    changed = entry.write(profile);
    changed[path.entry] = value;
  }
  Diagnostics faults(profile.id);
  entry.read(profile, changed, "/" + key, faults);
  if (!faults.faults().empty()) throw std::logic_error(faults.faults().front().text());
}

template <class T>
void set_all(const TrainingConstant& constant, double value, T& profile) {
  if (!constant.times.empty()) value *= value_of(constant.times, profile);
  for (const std::string& key : constant.keys) set_key(key, value, profile);
}

}  // namespace

const FieldTable<TrainingConstant>& TrainingConstant::fields() {
  using T = TrainingConstant;
  static const FieldTable<T> table =
      FieldTable<T>("training constant", "A constant that training runs determine")
          .field("name", &T::name, "What it is", {.required = true})
          .field("kind", &T::kind, "Catalogue of its profiles", {.required = true})
          .field("profiles", &T::profiles, "Ids of the profiles that share it", {.required = true})
          .field("keys", &T::keys, "Keys that it sets; `map.entry` for an entry of a map", {.required = true})
          .field("times", &T::times, "Key of the same profile that the value is a multiple of")
          .field("prior", &T::prior, "Expected value, in the key's unit",
                 {.required = true, .min = 0, .above_min = true})
          .field("spread", &T::spread, "Standard deviation of its logarithm", {.required = true, .min = 0})
          .field("least", &T::least, "Least value that is physical", {.required = true, .min = 0})
          .field("most", &T::most, "Largest value that is physical", {.required = true, .min = 0})
          .field("source", &T::source, "Where the prior comes from", {.required = true});
  return table;
}

bool TrainingConstant::is_of(ProfileKind which, const std::string& id) const {
  return kind == which && std::find(profiles.begin(), profiles.end(), id) != profiles.end();
}

std::vector<TrainingConstant> read_training_constants(const std::filesystem::path& file) {
  Diagnostics faults(file.string());
  const Json document = read_json(file, faults);
  faults.throw_if_faulty();
  std::vector<TrainingConstant> out;
  Codec<std::vector<TrainingConstant>>::read(out, document, "", "", {}, faults);
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i].prior < out[i].least || out[i].prior > out[i].most)
      faults.error(fmt::format("/{}/prior", i),
                   fmt::format("found {}, expected between {} and {}", out[i].prior, out[i].least, out[i].most));
    // Runs of a profile that cannot be read would be left out of the fit without a word.
    if (out[i].kind == ProfileKind::framework)
      for (std::size_t j = 0; j < out[i].profiles.size(); ++j)
        find_framework(out[i].profiles[j], fmt::format("/{}/profiles/{}", i, j), faults);
  }
  faults.throw_if_faulty();
  return out;
}

void set_constant(const TrainingConstant& constant, double value, ComputeProfile& profile) {
  set_all(constant, value, profile);
}

void set_constant(const TrainingConstant& constant, double value, FrameworkProfile& profile) {
  set_all(constant, value, profile);
}

}  // namespace stepcast
