#include "hardware-catalog/part_kinds.hpp"

#include <algorithm>

#include "fields/plain_text.hpp"
#include "hardware-catalog/part_checks.hpp"

namespace stepcast {

template <class T>
T read_part(const Json& document, const std::string& id, Diagnostics& diagnostics) {
  const std::size_t before = diagnostics.faults().size();
  refuse_control_characters(document, diagnostics);
  T part = read_document<T>(document, diagnostics);
  if (!document.is_object()) return part;
  if (document.contains("id") && part.id != id)
    diagnostics.error("/id", fmt::format("found {}, expected \"{}\": an entry's id is its file's name",
                                         describe(document["id"]), id));
  part_checks::check_provenance(document, diagnostics);
  part_checks::check_least(document, diagnostics);
  // What holds between fields is checked on whole parts only: a field that could not be read would be blamed twice.
  if (diagnostics.faults().size() == before) part_checks::check(part, diagnostics);
  return part;
}

namespace {

template <class T>
PartKind kind_of_type() {
  return {kFolderOf<T>, [] { return published_schema<T>(fmt::format("Stepcast {}", T::fields().name())); },
          [](const Json& document, const std::string& id, Diagnostics& diagnostics) {
            read_part<T>(document, id, diagnostics);
          },
          [](const Json& document) {
            Diagnostics unused{""};
            return part_checks::references(read_document<T>(document, unused));
          }};
}

}  // namespace

const std::vector<PartKind>& part_kinds() {
  static const std::vector<PartKind> kinds{kind_of_type<Accelerator>(),
                                           kind_of_type<Cpu>(),
                                           kind_of_type<Node>(),
                                           kind_of_type<LinkPart>(),
                                           kind_of_type<SwitchPart>(),
                                           kind_of_type<StoragePart>(),
                                           kind_of_type<Psu>(),
                                           kind_of_type<Cooling>(),
                                           kind_of_type<Site>(),
                                           kind_of_type<ComputeProfile>(),
                                           kind_of_type<OperatorProfile>(),
                                           kind_of_type<ReliabilityRecord>(),
                                           kind_of_type<PowerRecord>(),
                                           kind_of_type<LinkProfile>(),
                                           kind_of_type<NetworkProfile>(),
                                           kind_of_type<LibraryProfile>()};
  return kinds;
}

const PartKind* find_part_kind(std::string_view name) {
  const auto& kinds = part_kinds();
  const auto found = std::find_if(kinds.begin(), kinds.end(), [&](const PartKind& kind) { return kind.name == name; });
  return found == kinds.end() ? nullptr : &*found;
}

template Accelerator read_part(const Json&, const std::string&, Diagnostics&);
template Cpu read_part(const Json&, const std::string&, Diagnostics&);
template Node read_part(const Json&, const std::string&, Diagnostics&);
template LinkPart read_part(const Json&, const std::string&, Diagnostics&);
template SwitchPart read_part(const Json&, const std::string&, Diagnostics&);
template StoragePart read_part(const Json&, const std::string&, Diagnostics&);
template Psu read_part(const Json&, const std::string&, Diagnostics&);
template Cooling read_part(const Json&, const std::string&, Diagnostics&);
template Site read_part(const Json&, const std::string&, Diagnostics&);
template ComputeProfile read_part(const Json&, const std::string&, Diagnostics&);
template OperatorProfile read_part(const Json&, const std::string&, Diagnostics&);
template ReliabilityRecord read_part(const Json&, const std::string&, Diagnostics&);
template PowerRecord read_part(const Json&, const std::string&, Diagnostics&);
template LinkProfile read_part(const Json&, const std::string&, Diagnostics&);
template NetworkProfile read_part(const Json&, const std::string&, Diagnostics&);
template LibraryProfile read_part(const Json&, const std::string&, Diagnostics&);

}  // namespace stepcast
