#include <fmt/format.h>

#include <stdexcept>

#include "sim/collective/flow_program.hpp"
#include "sim/collective/program_result.hpp"

// Messages between our own processes, not a file format: columns of numbers, in the order of the members.

namespace stepcast {

namespace {

template <class Item, class Member>
Json column(const std::vector<Item>& items, Member Item::*member) {
  Json out = Json::array();
  for (const Item& item : items) out.push_back(item.*member);
  return out;
}

template <class Item, class Member>
void read_column(const Json& message, const char* key, std::vector<Item>& items, Member Item::*member) {
  const Json& values = message.at(key);
  if (items.empty()) items.resize(values.size());
  if (values.size() != items.size()) throw std::runtime_error(fmt::format("\"{}\": {} values", key, values.size()));
  for (std::size_t i = 0; i < items.size(); ++i) items[i].*member = values[i].get<Member>();
}

Json to_json(const ProgramPhase& phase) {
  return {{"kind", static_cast<int>(phase.kind)},
          {"steps", phase.steps},
          {"latency_s", phase.latency},
          {"columns", phase.columns},
          {"column_of_step", phase.column_of_step},
          {"path", column(phase.lanes, &Lane::path)},
          {"sender", column(phase.lanes, &Lane::sender)},
          {"receiver", column(phase.lanes, &Lane::receiver)},
          {"lane_bytes", column(phase.lanes, &Lane::bytes)},
          {"payload_bytes", column(phase.lanes, &Lane::payload)},
          {"first_lane", phase.first_lane},
          {"instance", phase.instance},
          {"window", phase.window},
          {"crosses", std::vector<int>(phase.crosses.begin(), phase.crosses.end())}};
}

ProgramPhase phase_from_json(const Json& message) {
  ProgramPhase phase;
  const int kind = message.at("kind").get<int>();
  if (kind < 0 || kind > static_cast<int>(ProgramKind::windowed))
    throw std::runtime_error(fmt::format("there is no kind {} of phase", kind));
  phase.kind = static_cast<ProgramKind>(kind);
  message.at("steps").get_to(phase.steps);
  message.at("latency_s").get_to(phase.latency);
  message.at("columns").get_to(phase.columns);
  message.at("column_of_step").get_to(phase.column_of_step);
  read_column(message, "path", phase.lanes, &Lane::path);
  read_column(message, "sender", phase.lanes, &Lane::sender);
  read_column(message, "receiver", phase.lanes, &Lane::receiver);
  read_column(message, "lane_bytes", phase.lanes, &Lane::bytes);
  read_column(message, "payload_bytes", phase.lanes, &Lane::payload);
  message.at("first_lane").get_to(phase.first_lane);
  message.at("instance").get_to(phase.instance);
  message.at("window").get_to(phase.window);
  for (const Json& crosses : message.at("crosses")) phase.crosses.push_back(crosses.get<int>() != 0 ? 1 : 0);
  return phase;
}

/// The JSON library's own exceptions name types and keys; callers expect one kind of error.
template <class Read>
auto reading(const char* what, Read read) {
  try {
    return read();
  } catch (const Json::exception& error) {
    throw std::runtime_error(fmt::format("{}: {}", what, error.what()));
  }
}

}  // namespace

Json to_json(const FlowProgram& program) {
  Json jobs = Json::array();
  for (const ProgramJob& job : program.jobs) {
    Json phases = Json::array();
    for (const ProgramPhase& phase : job.phases) phases.push_back(to_json(phase));
    jobs.push_back({{"ranks", job.ranks}, {"begin_s", job.begin}, {"speed", job.speed}, {"phases", std::move(phases)}});
  }
  return {{"links_Bps", program.links},
          {"path_links", column(program.paths, &ProgramPath::links)},
          {"path_weight", column(program.paths, &ProgramPath::weight)},
          {"path_limit_Bps", column(program.paths, &ProgramPath::rate_limit)},
          {"path_detour", column(program.paths, &ProgramPath::detour)},
          {"jobs", std::move(jobs)},
          {"failure_time_s", column(program.failures, &ProgramFailure::time)},
          {"failure_link", column(program.failures, &ProgramFailure::link)}};
}

FlowProgram program_from_json(const Json& message) {
  return reading("flow program", [&] {
    FlowProgram program;
    message.at("links_Bps").get_to(program.links);
    read_column(message, "path_links", program.paths, &ProgramPath::links);
    read_column(message, "path_weight", program.paths, &ProgramPath::weight);
    read_column(message, "path_limit_Bps", program.paths, &ProgramPath::rate_limit);
    read_column(message, "path_detour", program.paths, &ProgramPath::detour);
    for (const Json& text : message.at("jobs")) {
      ProgramJob job;
      text.at("ranks").get_to(job.ranks);
      text.at("begin_s").get_to(job.begin);
      text.at("speed").get_to(job.speed);
      for (const Json& phase : text.at("phases")) job.phases.push_back(phase_from_json(phase));
      program.jobs.push_back(std::move(job));
    }
    read_column(message, "failure_time_s", program.failures, &ProgramFailure::time);
    read_column(message, "failure_link", program.failures, &ProgramFailure::link);
    return program;
  });
}

Json to_json(const ProgramResult& result) {
  return {{"end_s", result.end},
          {"rank_ends_s", result.rank_ends},
          {"link_bytes", column(result.links, &ProgramLinkUse::bytes)},
          {"link_payload_bytes", column(result.links, &ProgramLinkUse::payload)},
          {"link_busy_s", column(result.links, &ProgramLinkUse::busy)},
          {"link_peak_Bps", column(result.links, &ProgramLinkUse::peak)},
          {"flows", result.flows},
          {"shared_flows", result.shared_flows}};
}

ProgramResult program_result_from_json(const Json& message) {
  return reading("result of a flow program", [&] {
    ProgramResult result;
    message.at("end_s").get_to(result.end);
    message.at("rank_ends_s").get_to(result.rank_ends);
    read_column(message, "link_bytes", result.links, &ProgramLinkUse::bytes);
    read_column(message, "link_payload_bytes", result.links, &ProgramLinkUse::payload);
    read_column(message, "link_busy_s", result.links, &ProgramLinkUse::busy);
    read_column(message, "link_peak_Bps", result.links, &ProgramLinkUse::peak);
    message.at("flows").get_to(result.flows);
    message.at("shared_flows").get_to(result.shared_flows);
    return result;
  });
}

}  // namespace stepcast
