#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hardware-catalog/parts.hpp"

namespace stepcast {

/// Format of the catalogue that this program reads; stated in `catalogue.json` of the shipped one.
inline constexpr int kCatalogueVersion = 1;

/// Where a calibration comes from, as its file says: what it is compared with when it is used.
struct CalibrationFacts {
  std::filesystem::path file;
  std::string name, created;                                 ///< created: YYYY-MM-DD
  std::string node;                                          ///< catalogue id, or a scenario; empty: not told
  std::map<std::string, std::string> versions;               ///< of software, by name
  std::vector<std::pair<std::string, std::string>> entries;  ///< kind and id
};

/// The hardware catalogue: one JSON file per part, in one folder per kind (`accelerators/`, `cpus/`, `nodes/`,
/// `links/`, `switches/`, `storage/`, `psus/`, `cooling/`, `sites/`, `compute-profiles/`, `reliability/`, `power/`,
/// `link-profiles/`, `network-profiles/`, `library-profiles/`). An entry is read when it is first asked for, so a run
/// pays for what it uses. User directories come first: they add entries and replace shipped ones of the same id. May be
/// shared between threads.
class Catalog {
 public:
  /// Directories in order of precedence, the shipped one last.
  explicit Catalog(std::vector<std::filesystem::path> directories);

  /// The shipped catalogue, behind `--catalog` directories and those of STEPCAST_CATALOG (colon-separated).
  /// Throws InputError if a directory does not exist or the shipped catalogue cannot be found.
  static Catalog standard(const std::vector<std::filesystem::path>& user_directories);

  /// The entry of type T (Accelerator, Cpu, Node, LinkPart, SwitchPart, StoragePart, Psu, Cooling, Site,
  /// ComputeProfile, ReliabilityRecord, PowerRecord, LinkProfile, NetworkProfile, LibraryProfile). A reference stays
  /// valid as long as the catalogue. Returns null when there is none; throws InputError when the file is faulty.
  /// "NODE-N-of-M" without a file of its own is N of the M accelerators of NODE (part_of_node.hpp).
  template <class T>
  const T* find(std::string_view id) const;

  /// Like find, but an unknown id is a fault at `pointer` with the nearest ids as a suggestion, and the faults of a
  /// faulty entry go to the diagnostics too; returns null then.
  template <class T>
  const T* find(std::string_view id, const std::string& pointer, Diagnostics& diagnostics) const;

  /// Every id of a kind (a folder name), sorted.
  [[nodiscard]] std::vector<std::string> ids(std::string_view kind) const;
  [[nodiscard]] static const std::vector<std::string>& kinds();
  /// The kind that has an entry of this id ("" if none; the first in order of kinds() when several have).
  [[nodiscard]] std::string kind_of(std::string_view id) const;
  /// The JSON of an entry, for `catalog show`. Throws InputError when there is none.
  [[nodiscard]] Json show(std::string_view kind, std::string_view id) const;
  /// The file that an entry is read from; empty when there is none.
  [[nodiscard]] std::filesystem::path file_of(std::string_view kind, std::string_view id) const;
  [[nodiscard]] const std::vector<std::filesystem::path>& directories() const;

  /// This catalogue behind calibrations (stepcast calibrate fit), the first of which goes first, but after those that
  /// stand among its directories; itself when they are the ones that it is behind already. Kept: the same unchanged
  /// files give the same catalogue, which lives as long as this one, and entries that no calibration holds are this
  /// one's own. Throws InputError with every fault of files that cannot be read, are no calibrations, or hold faulty
  /// entries.
  [[nodiscard]] const Catalog& behind(const std::vector<std::filesystem::path>& calibrations) const;
  /// The calibrations among the directories, in order of precedence.
  [[nodiscard]] std::vector<CalibrationFacts> calibrations() const;

  /// Checks one file against the table of its kind (its folder's name) and appends its faults.
  static void validate(const std::filesystem::path& file, Diagnostics& diagnostics);
  /// Checks every entry and every reference between entries.
  void validate_all(Diagnostics& diagnostics) const;
  /// JSON Schema of a kind. Throws InputError for an unknown kind.
  static Json schema(std::string_view kind);

  /// FNV-1a (64 bit, hex) over kind, id and content of every entry read so far, in order of kind and id: what a
  /// prediction rests on. Spacing and comments in the files do not count.
  [[nodiscard]] std::string hash_of_used() const;

  ~Catalog();
  Catalog(Catalog&&) noexcept;
  Catalog& operator=(Catalog&&) noexcept;

 private:
  struct Impl;
  explicit Catalog(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace stepcast
