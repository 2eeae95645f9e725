#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "hardware-catalog/communication_profiles.hpp"
#include "hardware-catalog/operator_profile.hpp"
#include "hardware-catalog/parts.hpp"

namespace stepcast {

/// An id that one catalogue entry names of another.
struct PartReference {
  std::string pointer;
  std::string kind;
  std::string id;
};

/// A kind of catalogue entry: a folder, and what holds for the files in it.
struct PartKind {
  std::string_view name;
  Json (*schema)();
  /// Checks a document beyond what find needs; the file's name is what its id must be.
  void (*check)(const Json& document, const std::string& id, Diagnostics& diagnostics);
  std::vector<PartReference> (*references)(const Json& document);
};

/// In the order in which they are listed.
const std::vector<PartKind>& part_kinds();
/// Null when there is no such kind.
const PartKind* find_part_kind(std::string_view name);

/// The folder of a type's entries. Specialised for every type of the catalogue.
template <class T>
inline constexpr std::string_view kFolderOf;
template <>
inline constexpr std::string_view kFolderOf<Accelerator> = "accelerators";
template <>
inline constexpr std::string_view kFolderOf<Cpu> = "cpus";
template <>
inline constexpr std::string_view kFolderOf<Node> = "nodes";
template <>
inline constexpr std::string_view kFolderOf<LinkPart> = "links";
template <>
inline constexpr std::string_view kFolderOf<SwitchPart> = "switches";
template <>
inline constexpr std::string_view kFolderOf<StoragePart> = "storage";
template <>
inline constexpr std::string_view kFolderOf<Psu> = "psus";
template <>
inline constexpr std::string_view kFolderOf<Cooling> = "cooling";
template <>
inline constexpr std::string_view kFolderOf<Site> = "sites";
template <>
inline constexpr std::string_view kFolderOf<ComputeProfile> = "compute-profiles";
template <>
inline constexpr std::string_view kFolderOf<OperatorProfile> = "operator-profiles";
template <>
inline constexpr std::string_view kFolderOf<ReliabilityRecord> = "reliability";
template <>
inline constexpr std::string_view kFolderOf<PowerRecord> = "power";
template <>
inline constexpr std::string_view kFolderOf<LinkProfile> = "link-profiles";
template <>
inline constexpr std::string_view kFolderOf<NetworkProfile> = "network-profiles";
template <>
inline constexpr std::string_view kFolderOf<LibraryProfile> = "library-profiles";

/// Reads an entry: its fields, and what must hold between them and with its file's name.
template <class T>
T read_part(const Json& document, const std::string& id, Diagnostics& diagnostics);

}  // namespace stepcast
