#include "hardware-catalog/catalog.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <set>
#include <tuple>

#include "fields/fnv1a.hpp"
#include "fields/plain_text.hpp"
#include "hardware-catalog/catalog_location.hpp"
#include "hardware-catalog/part_kinds.hpp"
#include "hardware-catalog/part_of_node.hpp"

namespace stepcast {

namespace {

namespace fs = std::filesystem;

template <class T>
using Entries = std::map<std::string, std::unique_ptr<T>, std::less<>>;

/// An id is a file's name, so it must not lead out of the folder.
bool is_id(std::string_view id) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.' || c == '+';
  };
  return !id.empty() && id.front() != '.' && id.size() <= 200 && std::all_of(id.begin(), id.end(), allowed);
}

constexpr const char* kOverlayKey = "catalogue";

/// Where an entry stands: in a file of its own, or under its kind and id in a calibration.
struct Place {
  fs::path file;
  const Json* inside = nullptr;  ///< the entry, in a calibration

  [[nodiscard]] bool empty() const { return file.empty(); }
  /// What messages call it.
  [[nodiscard]] std::string name(std::string_view kind, std::string_view id) const {
    return inside == nullptr ? file.string() : fmt::format("{}#/{}/{}/{}", file.string(), kOverlayKey, kind, id);
  }
  [[nodiscard]] Json document(Diagnostics& diagnostics) const {
    return inside == nullptr ? read_json(file, diagnostics) : *inside;
  }
};

/// A calibration among the directories.
struct Overlay {
  Json entries;  ///< by kind and id
  CalibrationFacts facts;
};

std::string text_at(const Json& object, const char* key) {
  return object.is_object() && object.contains(key) && object[key].is_string() ? object[key].get<std::string>() : "";
}

Overlay read_overlay(const fs::path& file) {
  Diagnostics diagnostics(file.string());
  Json document = read_json(file, diagnostics);
  if (diagnostics.ok() &&
      !(document.is_object() && document.contains(kOverlayKey) && document[kOverlayKey].is_object()))
    diagnostics.error("", "is no calibration: it has no catalogue entries", "stepcast calibrate fit writes one");
  diagnostics.throw_if_faulty();
  Overlay out{std::move(document[kOverlayKey]),
              {file, text_at(document, "name"), text_at(document, "created"), {}, {}, {}}};
  for (const auto& [kind, entries] : out.entries.items())
    for (const auto& item : entries.items()) out.facts.entries.emplace_back(kind, item.key());
  if (!document.contains("machine")) return out;
  const Json& machine = document["machine"];
  out.facts.node = text_at(machine, "node");
  if (machine.is_object() && machine.contains("versions") && machine["versions"].is_object())
    for (const auto& [software, version] : machine["versions"].items())
      if (version.is_string()) out.facts.versions.emplace(software, version.get<std::string>());
  return out;
}

/// Entries are read when they are asked for, which is too late to say everything that is wrong with a file.
void check_entries(const Overlay& overlay, Diagnostics& diagnostics) {
  for (const auto& [name, entries] : overlay.entries.items()) {
    const PartKind* kind = find_part_kind(name);
    if (kind == nullptr || !entries.is_object()) continue;
    for (const auto& [id, entry] : entries.items()) {
      Diagnostics own(Place{overlay.facts.file, &entry}.name(name, id));
      kind->check(entry, id, own);
      diagnostics.add(own.faults());
    }
  }
}

/// What a calibration among a scenario's is known by: its content may change while a program runs.
using FileState = std::pair<std::string, fs::file_time_type>;

}  // namespace

struct Catalog::Impl {
  std::vector<fs::path> directories;
  Impl* parent = nullptr;            ///< of a catalogue behind calibrations: everything else
  std::vector<FileState> own_files;  ///< of such a catalogue
  std::vector<fs::path> all;         ///< its directories and the parent's
  std::mutex children_mutex;
  std::map<std::vector<FileState>, Catalog> children;
  std::mutex mutex;
  std::tuple<Entries<Accelerator>, Entries<Cpu>, Entries<Node>, Entries<LinkPart>, Entries<SwitchPart>,
             Entries<StoragePart>, Entries<Psu>, Entries<Cooling>, Entries<Site>, Entries<ComputeProfile>,
             Entries<OperatorProfile>, Entries<ReliabilityRecord>, Entries<PowerRecord>, Entries<LinkProfile>,
             Entries<NetworkProfile>, Entries<LibraryProfile>>
      entries;
  std::map<std::pair<std::string, std::string>, std::string> contents;  ///< of the entries read, by kind and id
  std::string hash;  ///< of `contents`; empty when an entry has been read since

  std::map<fs::path, Overlay> overlays;  ///< calibrations that stand among the directories, by name

  explicit Impl(std::vector<fs::path> listed, Impl* behind = nullptr) : directories(std::move(listed)), parent(behind) {
    for (const fs::path& directory : directories) {
      std::error_code error;
      if (fs::is_regular_file(directory, error)) overlays.emplace(directory, read_overlay(directory));
    }
    all = directories;
    if (parent != nullptr) all.insert(all.end(), parent->all.begin(), parent->all.end());
  }

  [[nodiscard]] Place place_of(std::string_view kind, std::string_view id) const {
    const Place own = own_place_of(kind, id);
    return own.empty() && parent != nullptr ? parent->place_of(kind, id) : own;
  }

  [[nodiscard]] bool calibrates(std::string_view kind, std::string_view id) const {
    return std::any_of(overlays.begin(), overlays.end(), [&](const auto& overlay) {
      const auto of_kind = overlay.second.entries.find(kind);
      return of_kind != overlay.second.entries.end() && of_kind->is_object() && of_kind->contains(id);
    });
  }

  [[nodiscard]] Place own_place_of(std::string_view kind, std::string_view id) const {
    // Calibrations that the command line names go before those of a scenario.
    if (!is_id(id) || (parent != nullptr && parent->calibrates(kind, id))) return {};
    for (const fs::path& directory : directories) {
      if (const auto overlay = overlays.find(directory); overlay != overlays.end()) {
        const Json& held = overlay->second.entries;
        const auto of_kind = held.find(kind);
        if (of_kind == held.end() || !of_kind->is_object()) continue;
        const auto entry = of_kind->find(id);
        if (entry != of_kind->end()) return {directory, &*entry};
        continue;
      }
      fs::path file = directory / kind / (std::string(id) + ".json");
      std::error_code error;
      if (fs::is_regular_file(file, error)) return {std::move(file), nullptr};
    }
    return {};
  }

  /// Where an entry's document is: its own place, or of some of a node's accelerators the whole node's.
  [[nodiscard]] Place source_of(std::string_view kind, std::string_view id) const {
    Place place = own_place_of(kind, id);
    const auto part = place.empty() && parent == nullptr && kind == kFolderOf<Node> ? node_part_name(id) : std::nullopt;
    return part ? own_place_of(kind, part->node) : place;
  }

  /// The entry that an id names: that of its own place, or of some of a node's accelerators what the whole node's says
  /// of them. Null where it names none.
  [[nodiscard]] Json document_of(std::string_view kind, std::string_view id, Diagnostics& diagnostics) const {
    const Place place = source_of(kind, id);
    Json document = place.empty() ? Json() : place.document(diagnostics);
    if (place.empty() || !own_place_of(kind, id).empty() || !diagnostics.ok()) return document;
    return part_of_node(std::move(document), *node_part_name(id)).value_or(Json());
  }

  [[nodiscard]] const Impl& root() const { return parent == nullptr ? *this : parent->root(); }

  /// Whether an id without an entry names some of a node's accelerators.
  [[nodiscard]] bool names_node_part(std::string_view id) const {
    if (!place_of(kFolderOf<Node>, id).empty() || !node_part_name(id)) return false;
    Diagnostics unread{""};
    return !root().document_of(kFolderOf<Node>, id, unread).is_null() && unread.ok();
  }

  template <class T>
  const T* find(std::string_view id) {
    const std::scoped_lock lock(mutex);
    auto& known = std::get<Entries<T>>(entries);
    if (const auto found = known.find(id); found != known.end()) return found->second.get();
    const Place place = source_of(kFolderOf<T>, id);
    if (place.empty()) return parent != nullptr ? parent->find<T>(id) : nullptr;
    Diagnostics diagnostics(place.name(kFolderOf<T>, id));
    const Json document = document_of(kFolderOf<T>, id, diagnostics);
    diagnostics.throw_if_faulty();
    if (document.is_null()) return nullptr;
    auto part = std::make_unique<T>(read_part<T>(document, std::string(id), diagnostics));
    diagnostics.throw_if_faulty();
    if (parent == nullptr)
      read(kFolderOf<T>, std::string(id), document.dump());
    else
      parent->note_calibrated(kFolderOf<T>, id, document.dump());
    return known.emplace(std::string(id), std::move(part)).first->second.get();
  }

  void read(std::string_view kind, std::string id, std::string content) {
    contents[{std::string(kind), std::move(id)}] = std::move(content);
    hash.clear();
  }

  [[nodiscard]] std::string hash_of_used() {
    const std::scoped_lock lock(mutex);
    // Sweeps ask once a configuration.
    if (!hash.empty()) return hash;
    Fnv1a all_read;
    for (const auto& [name, content] : contents) {
      all_read.add_apart(name.first);
      all_read.add_apart(name.second);
      all_read.add_apart(content);
    }
    return hash = all_read.hex();
  }

  /// What a prediction rests on counts where predictions ask for it, under its content: scenarios with different
  /// calibrations may share a catalogue.
  void note_calibrated(std::string_view kind, std::string_view id, std::string content) {
    if (parent != nullptr) return parent->note_calibrated(kind, id, std::move(content));
    Fnv1a name;
    name.add_apart(content);
    const std::scoped_lock lock(mutex);
    read(kind, fmt::format("{}#{}", id, name.hex()), std::move(content));
  }
};

Catalog::Catalog(std::vector<fs::path> directories) : impl_(std::make_unique<Impl>(std::move(directories))) {}
Catalog::Catalog(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Catalog::~Catalog() = default;
Catalog::Catalog(Catalog&&) noexcept = default;
Catalog& Catalog::operator=(Catalog&&) noexcept = default;

Catalog Catalog::standard(const std::vector<fs::path>& user_directories) {
  std::vector<fs::path> directories = user_directories;
  if (const char* listed = std::getenv("STEPCAST_CATALOG")) {
    std::string_view rest = listed;
    while (!rest.empty()) {
      const auto end = std::min(rest.find(':'), rest.size());
      if (end > 0) directories.emplace_back(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  std::vector<Fault> faults;
  for (const fs::path& directory : directories) {
    std::error_code error;
    if (!fs::is_directory(directory, error) && !fs::is_regular_file(directory, error))
      faults.push_back({directory.string(), "", "is neither a catalogue of hardware nor a calibration",
                        "a catalogue has one folder per kind, as nodes/ and accelerators/"});
  }
  if (!faults.empty()) throw InputError(std::move(faults));
  directories.push_back(shipped_catalogue());
  return Catalog(std::move(directories));
}

template <class T>
const T* Catalog::find(std::string_view id) const {
  return impl_->find<T>(id);
}

template <class T>
const T* Catalog::find(std::string_view id, const std::string& pointer, Diagnostics& diagnostics) const {
  try {
    if (const T* part = find<T>(id)) return part;
  } catch (const InputError& error) {
    diagnostics.add(error.faults());
    return nullptr;
  }
  const std::vector<std::string> known = ids(kFolderOf<T>);
  std::string hint = did_you_mean(id, known);
  if (hint.empty()) hint = fmt::format("`stepcast catalog list {}` shows what there is", kFolderOf<T>);
  diagnostics.error(pointer, fmt::format("no {} \"{}\" in the catalogue", T::fields().name(), id), std::move(hint));
  return nullptr;
}

std::vector<std::string> Catalog::ids(std::string_view kind) const {
  std::set<std::string> out;
  for (const Impl* one = impl_.get(); one != nullptr; one = one->parent)
    for (const fs::path& directory : one->directories) {
      if (const auto overlay = one->overlays.find(directory); overlay != one->overlays.end()) {
        const auto entries = overlay->second.entries.find(kind);
        if (entries != overlay->second.entries.end() && entries->is_object())
          for (const auto& entry : entries->items()) out.insert(entry.key());
        continue;
      }
      std::error_code error;
      for (fs::directory_iterator file(directory / kind, error), end; !error && file != end; file.increment(error))
        if (file->path().extension() == ".json") out.insert(file->path().stem().string());
    }
  return {out.begin(), out.end()};
}

const std::vector<std::string>& Catalog::kinds() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> out;
    for (const PartKind& kind : part_kinds()) out.emplace_back(kind.name);
    return out;
  }();
  return names;
}

std::string Catalog::kind_of(std::string_view id) const {
  for (const std::string& kind : kinds())
    if (!impl_->place_of(kind, id).empty()) return kind;
  return impl_->names_node_part(id) ? std::string(kFolderOf<Node>) : std::string{};
}

Json Catalog::show(std::string_view kind, std::string_view id) const {
  const bool part = kind == kFolderOf<Node> && impl_->names_node_part(id);
  const Place place = part ? impl_->root().source_of(kind, id) : impl_->place_of(kind, id);
  if (place.empty())
    throw InputError(
        {{"", "", fmt::format("no \"{}\" in {} of the catalogue", id, kind), did_you_mean(id, ids(kind))}});
  Diagnostics diagnostics(place.name(kind, id));
  Json document = part ? impl_->root().document_of(kind, id, diagnostics) : place.document(diagnostics);
  // It is shown as it stands.
  refuse_control_characters(document, diagnostics);
  diagnostics.throw_if_faulty();
  return document;
}

fs::path Catalog::file_of(std::string_view kind, std::string_view id) const {
  const bool part = kind == kFolderOf<Node> && impl_->names_node_part(id);
  return part ? impl_->root().source_of(kind, id).file : impl_->place_of(kind, id).file;
}

const std::vector<fs::path>& Catalog::directories() const { return impl_->all; }

const Catalog& Catalog::behind(const std::vector<fs::path>& calibrations) const {
  std::vector<FileState> files;
  for (const fs::path& file : calibrations) {
    std::error_code error;
    files.emplace_back(file.string(), fs::last_write_time(file, error));
  }
  if (files.empty() || files == impl_->own_files) return *this;
  const std::scoped_lock lock(impl_->children_mutex);
  if (const auto known = impl_->children.find(files); known != impl_->children.end()) return known->second;
  std::vector<Fault> faults;
  for (const fs::path& file : calibrations) try {
      Diagnostics own(file.string());
      check_entries(read_overlay(file), own);
      faults.insert(faults.end(), own.faults().begin(), own.faults().end());
    } catch (const InputError& error) {
      faults.insert(faults.end(), error.faults().begin(), error.faults().end());
    }
  if (!faults.empty()) throw InputError(std::move(faults));
  auto child = std::make_unique<Impl>(calibrations, impl_.get());
  child->own_files = files;
  return impl_->children.emplace(std::move(files), Catalog(std::move(child))).first->second;
}

std::vector<CalibrationFacts> Catalog::calibrations() const {
  std::vector<CalibrationFacts> out;
  for (const Impl* one = impl_.get(); one != nullptr; one = one->parent)
    for (const fs::path& directory : one->directories)
      if (const auto overlay = one->overlays.find(directory); overlay != one->overlays.end())
        out.push_back(overlay->second.facts);
  return out;
}

void Catalog::validate(const fs::path& file, Diagnostics& diagnostics) {
  Diagnostics own(file.string());
  std::error_code error;
  if (!fs::exists(file, error)) {
    diagnostics.add({{file.string(), "", "there is no such file", "stepcast catalog validate takes files of entries"}});
    return;
  }
  const std::string folder = fs::absolute(file).lexically_normal().parent_path().filename().string();
  if (const PartKind* kind = find_part_kind(folder)) {
    const Json document = read_json(file, own);
    if (own.ok()) kind->check(document, file.stem().string(), own);
  } else {
    own.error("",
              fmt::format("lies in the folder \"{}\", which is no kind of part; {}", folder, expected_one_of(kinds())),
              did_you_mean(folder, kinds()));
  }
  diagnostics.add(own.faults());
}

void Catalog::validate_all(Diagnostics& diagnostics) const {
  for (const PartKind& kind : part_kinds()) {
    for (const std::string& id : ids(kind.name)) {
      const Place place = impl_->place_of(kind.name, id);
      Diagnostics own(place.empty() ? id : place.name(kind.name, id));
      if (place.empty()) {
        own.error("", fmt::format("\"{}\" is no id: letters, digits, and - _ . + only", id));
      } else if (const Json document = place.document(own); own.ok()) {
        kind.check(document, id, own);
        for (const PartReference& reference : own.ok() ? kind.references(document) : std::vector<PartReference>{})
          if (impl_->place_of(reference.kind, reference.id).empty())
            own.error(reference.pointer, fmt::format("no \"{}\" in {} of the catalogue", reference.id, reference.kind),
                      did_you_mean(reference.id, ids(reference.kind)));
      }
      diagnostics.add(own.faults());
    }
  }
}

Json Catalog::schema(std::string_view kind) {
  if (const PartKind* found = find_part_kind(kind)) return found->schema();
  throw InputError(
      {{"", "", fmt::format("no kind \"{}\", {}", kind, expected_one_of(kinds())), did_you_mean(kind, kinds())}});
}

std::string Catalog::hash_of_used() const {
  Impl* root = impl_.get();
  while (root->parent != nullptr) root = root->parent;
  return root->hash_of_used();
}

#define STEPCAST_CATALOGUE_TYPE(T)                         \
  template const T* Catalog::find(std::string_view) const; \
  template const T* Catalog::find(std::string_view, const std::string&, Diagnostics&) const;
STEPCAST_CATALOGUE_TYPE(Accelerator)
STEPCAST_CATALOGUE_TYPE(Cpu)
STEPCAST_CATALOGUE_TYPE(Node)
STEPCAST_CATALOGUE_TYPE(LinkPart)
STEPCAST_CATALOGUE_TYPE(SwitchPart)
STEPCAST_CATALOGUE_TYPE(StoragePart)
STEPCAST_CATALOGUE_TYPE(Psu)
STEPCAST_CATALOGUE_TYPE(Cooling)
STEPCAST_CATALOGUE_TYPE(Site)
STEPCAST_CATALOGUE_TYPE(ComputeProfile)
STEPCAST_CATALOGUE_TYPE(OperatorProfile)
STEPCAST_CATALOGUE_TYPE(ReliabilityRecord)
STEPCAST_CATALOGUE_TYPE(PowerRecord)
STEPCAST_CATALOGUE_TYPE(LinkProfile)
STEPCAST_CATALOGUE_TYPE(NetworkProfile)
STEPCAST_CATALOGUE_TYPE(LibraryProfile)
#undef STEPCAST_CATALOGUE_TYPE

}  // namespace stepcast
