#include "models/updates/timeline_fault.hpp"

#include <fmt/format.h>

#include "models/updates/lone_node.hpp"

namespace stepcast {

namespace {

constexpr const char* kAlike = "steps that all devices end together, by collectives, have one";

Fault fault_at(const char* pointer, std::string found) {
  return {"", pointer, std::move(found) + ", whose steps are no one timeline of operations", kAlike};
}

}  // namespace

std::optional<Fault> timeline_fault(const Scenario& scenario) {
  if (scenario.actors) return fault_at("/strategy/actors", "found learners that wait for actors");
  if (!exchanges_apart(scenario)) return std::nullopt;
  if (scenario.update == UpdateMode::synchronous)
    return fault_at("/strategy/parameter_servers", "found workers that meet at parameter servers");
  return fault_at("/strategy/update", fmt::format("found update \"{}\"", name_of(scenario.update)));
}

}  // namespace stepcast
