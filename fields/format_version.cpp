#include "fields/format_version.hpp"

#include <fmt/format.h>

namespace stepcast {

void refuse_newer(const Json& document, long newest, std::string_view what, Diagnostics& diagnostics) {
  if (!document.is_object() || !document.contains("format_version")) return;
  const Json& version = document["format_version"];
  if (!version.is_number_integer() || version.get<long>() <= newest) return;
  diagnostics.error(
      "/format_version",
      fmt::format("found {}, but this version of Stepcast reads {} up to {}", version.get<long>(), what, newest),
      "update Stepcast");
  diagnostics.throw_if_faulty();
}

}  // namespace stepcast
