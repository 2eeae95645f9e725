#include "report/shared_jobs.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/humane.hpp"

namespace stepcast {

Json to_json(const SharedOutcome& outcome) {
  Json jobs = Json::array();
  for (const SharedJobOutcome& job : outcome.jobs)
    jobs.push_back({{"name", job.name},
                    {"nodes", job.nodes},
                    {"devices", job.devices},
                    {"alone_s", job.alone.value()},
                    {"together_s", job.together.value()},
                    {"slowdown", job.slowdown()},
                    {"steps", job.steps}});
  return {{"mixing", std::string(name_of(outcome.mixing))}, {"jobs", std::move(jobs)}};
}

SharedOutcome shared_outcome_from_json(const Json& document) {
  SharedOutcome out;
  out.mixing = parse_enum<JobMixing>(document.at("mixing").get<std::string>()).value();
  for (const Json& job : document.at("jobs"))
    out.jobs.push_back({job.at("name").get<std::string>(), job.at("nodes").get<int>(), job.at("devices").get<int>(),
                        Seconds(job.at("alone_s").get<double>()), Seconds(job.at("together_s").get<double>()),
                        job.at("steps").get<int>()});
  return out;
}

std::string text_report(const SharedOutcome& outcome) {
  int width = 3;
  for (const SharedJobOutcome& job : outcome.jobs) width = std::max(width, columns_of(job.name));
  std::string out =
      fmt::format("{} jobs on one fabric, {}\n\n{}  {:>7}  {:>10}  {:>10}  {:>9}\n", outcome.jobs.size(),
                  name_of(outcome.mixing), pad_right("job", width), "nodes", "alone", "together", "slow-down");
  for (const SharedJobOutcome& job : outcome.jobs)
    out += fmt::format("{}  {:>7}  {}  {}  {:>9.3f}\n", pad_right(job.name, width), whole(job.nodes),
                       pad_left(humane(job.alone), 10), pad_left(humane(job.together), 10), job.slowdown());
  return out;
}

}  // namespace stepcast
