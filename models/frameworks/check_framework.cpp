#include "models/frameworks/check_framework.hpp"

#include "models/scenario/scenario.hpp"

namespace stepcast {

namespace {

template <class Choice>
void check_names(const char* pointer, const std::vector<std::string>& offered, Diagnostics& diagnostics) {
  const std::vector<std::string> known = names_of<Choice>();
  for (std::size_t i = 0; i < offered.size(); ++i)
    if (!parse_enum<Choice>(offered[i]))
      diagnostics.error(fmt::format("{}/{}", pointer, i), fmt::format("found \"{}\"", offered[i]),
                        nearest_choice(offered[i], known));
}

template <class Choice>
void check_offered(const char* pointer, const std::vector<std::string>& offered, Diagnostics& diagnostics) {
  const std::vector<std::string> known = names_of<Choice>();
  if (offered.empty())
    diagnostics.error(pointer, fmt::format("found none, expected at least \"{}\"", known.front()),
                      expected_one_of(known));
  check_names<Choice>(pointer, offered, diagnostics);
}

}  // namespace

void check_framework(const FrameworkProfile& profile, Diagnostics& diagnostics) {
  check_offered<Sharding>("/shardings", profile.shardings, diagnostics);
  check_offered<ExpertDispatch>("/expert_dispatches", profile.expert_dispatches, diagnostics);
  check_names<PipelineSchedule>("/schedules", profile.schedules, diagnostics);
  check_names<ContextMethod>("/context_methods", profile.context_methods, diagnostics);
  if (profile.exchange.updates.empty())
    diagnostics.error("/exchange/updates",
                      fmt::format("found none, expected at least \"{}\"", name_of(UpdateMode::synchronous)));
}

}  // namespace stepcast
