#include <algorithm>
#include <array>
#include <cmath>

#include "planner/nearest_miss.hpp"
#include "planner/plan.hpp"
#include "report/humane.hpp"
#include "report/run_outlook.hpp"
#include "report/text_layout.hpp"
#include "units/calendar.hpp"

namespace stepcast {

namespace {

/// What resolving writes of every fabric, from its node where nobody states it.
constexpr std::array kOfTheNode{"nics_per_node", "nic_bandwidth_Gbps", "network", "wrap_multiple"};

/// Whatever of a fabric is not as it is by default, so that two that differ read differently.
std::vector<std::string> fabric_words(const Json& cluster, const std::set<std::string>& stated) {
  static const Json standard = FabricSpec::fields().write({});
  const Json fabric = cluster.value("fabric", Json::object());
  std::vector<std::string> out;
  for (const auto& [key, value] : fabric.items()) {
    if (standard.value(key, Json()) == value) continue;
    const bool of_the_node = std::find(kOfTheNode.begin(), kOfTheNode.end(), key) != kOfTheNode.end();
    if (of_the_node && !stated.contains(key)) continue;
    std::string name = key;
    std::replace(name.begin(), name.end(), '_', ' ');
    const std::string words = value.is_string()         ? value.get<std::string>()
                              : value.is_number_float() ? fmt::format("{:g}", value.get<double>())
                                                        : value.dump();
    out.push_back(key == "preset" ? "fabric " + words : fmt::format("fabric's {} {}", name, words));
  }
  return out;
}

}  // namespace

std::vector<std::string> machine_words(const Json& scenario, const std::set<std::string>& stated) {
  const Json& cluster = scenario.at("cluster");
  std::vector<std::string> out = fabric_words(cluster, stated);
  for (const char* key : {"storage", "site", "cooling"})
    if (const std::string id = cluster.value(key, ""); !id.empty()) out.push_back(fmt::format("{} {}", key, id));
  const auto add = [&](const Json& part, const char* key, const auto& words) {
    if (const Json value = part.value(key, Json()); value.is_number()) out.push_back(words(value.get<double>()));
  };
  add(cluster, "power_cap_W", [](double watts) { return fmt::format("capped at {} W", significant(watts)); });
  add(cluster, "clock_MHz", [](double clock) { return fmt::format("locked at {} MHz", significant(clock)); });
  const Json cost = cluster.value("cost", Json::object());
  if (const std::string basis = cost.value("basis", "auto"); basis != "auto") out.push_back(basis);
  const auto money = [](double usd) { return price_text(Dollars(usd)); };
  add(cost, "node_rent_usd_per_h", [&](double usd) { return fmt::format("rented at {}/h", money(usd)); });
  add(cost, "node_purchase_usd", [&](double usd) { return fmt::format("bought at {}", money(usd)); });
  add(cost, "network_purchase_usd", [&](double usd) { return fmt::format("network at {}", money(usd)); });
  add(cost, "amortisation_years", [](double years) { return fmt::format("over {:g} years", years); });
  add(cost, "electricity_usd_per_kWh", [&](double usd) { return fmt::format("{}/kWh", money(usd)); });
  if (cost.value("upkeep_percent_per_year", 0.0) > 0)
    add(cost, "upkeep_percent_per_year", [](double share) { return fmt::format("upkeep {:g} %", share); });
  return out;
}

namespace {

/// Where an option runs and how it is spread: two lines of a candidate.
std::string machines(const Json& scenario, const PlanAnswer& answer) {
  const Json& cluster = scenario.at("cluster");
  std::string out =
      fmt::format("{} × {} · {}", whole(cluster.at("nodes").get<long>()), cluster.at("node").get<std::string>(),
                  scenario.at("strategy").at("framework").get<std::string>());
  for (const std::string& words : machine_words(scenario, answer.stated_of_fabrics)) out += " · " + words;
  return out;
}

std::string strategy_words(const PlanCandidate& c) {
  const Degrees& d = c.prediction.degrees;
  std::string out;
  const auto add = [&](const std::string& words) { out += (out.empty() ? "" : " · ") + words; };
  for (const auto& [name, degree] : {std::pair{"tensor", d.tp}, std::pair{"context", d.cp}, std::pair{"pipeline", d.pp},
                                     std::pair{"virtual", d.vpp}, std::pair{"data", d.dp}, std::pair{"expert", d.ep}})
    if (degree > 1) add(fmt::format("{} {}", name, degree));
  if (d.ep > 1 && d.etp < d.tp) out += " of whole experts";
  const Json& strategy = c.scenario.at("strategy");
  if (const std::string dispatch = strategy.value("expert_dispatch", "all_to_all"); dispatch != "all_to_all")
    out += fmt::format(" by {}", dispatch);
  add(fmt::format("micro-batch {} × {}", d.micro_batch, d.micro_batches));
  add(fmt::format("sharding {}", strategy.at("sharding").get<std::string>()));
  if (strategy.value("recompute", "none") != "none")
    add(fmt::format("recompute {}", strategy.at("recompute").get<std::string>()));
  if (strategy.value("sequence_parallel", false)) add("sequence-parallel");
  if (strategy.value("offload_optimizer", false))
    add(strategy.value("offload_optimizer_device", "host") == "nvme" ? "optimizer on drives" : "optimizer offloaded");
  return out;
}

std::string money_words(const PlanCandidate& c) {
  const Prediction& p = c.prediction;
  std::string out;
  if (p.run_cost && p.cost_rate) {
    out = fmt::format("{} for the run at {} a month", humane(*p.run_cost), humane(*p.cost_rate * kMonth));
  } else if (p.run_cost) {
    out = fmt::format("{} for the run", humane(*p.run_cost));
  } else if (p.cost_rate) {
    out = fmt::format("{} an hour", humane(*p.cost_rate * 1_h));
  } else {
    out = "price unknown";
  }
  if (c.price) out += *c.price > Dollars(0) ? fmt::format(" · {} to buy", humane(*c.price)) : " · nothing to buy";
  return out;
}

/// How long the whole run takes, with what it loses to failures and checkpoints.
std::string run_words(const Prediction& p) {
  if (!p.time_to_train) return "";
  const std::string goodput = p.outlook ? fmt::format(" (goodput {})", percent(p.outlook->goodput.mean)) : "";
  return fmt::format("train {}{} · ", humane(*p.time_to_train), goodput);
}

std::string binding_words(const PlanCandidate& c) {
  std::string out;
  for (const Binding& b : c.binding) out += (out.empty() ? "" : "; ") + b.words;
  return out;
}

std::string candidate_text(const PlanAnswer& answer, std::size_t index) {
  const PlanCandidate& c = answer.candidates[index];
  const Prediction& p = c.prediction;
  const std::string mark = c.tie && c.of_other_kind ? "  (a tie with 1; the best of another kind)"
                           : c.tie                  ? "  (a tie with 1)"
                           : c.of_other_kind        ? "  (the best of another kind)"
                                                    : "";
  const std::string rate = p.tokens_per_s > 0 ? fmt::format("{} tokens/s", humane_count(p.tokens_per_s))
                                              : fmt::format("{} samples/s", humane_count(p.samples_per_s));
  std::string out =
      fmt::format("\n{:>2}  {}{}\n    {}\n", index + 1, machines(c.scenario, answer), mark, strategy_words(c));
  out += fmt::format("    step {} (80 %: {} to {}, evidence {}) · {} · MFU {}\n", humane(p.step_time),
                     humane(p.step_time_low()), humane(p.step_time_high()), name_of(p.expected_error.grade), rate,
                     percent(p.mfu));
  out += fmt::format("    {}{} · {} on average\n", run_words(p), money_words(c), humane(p.average_power));
  if (!p.cost_basis.empty()) out += wrapped(p.cost_basis, "    cost: ", "          ");
  if (c.carbon_of_run_t) out += fmt::format("    {} t of CO2\n", significant(*c.carbon_of_run_t));
  for (const std::string& words : c.network) out += fmt::format("    network: {}\n", words);
  return out + fmt::format("    binds: {}\n", binding_words(c));
}

/// How near the nearest of these options came, where none came through: pruning leaves no other figures whole.
std::string nearest_words(const Tally& tally, std::size_t reason) {
  const std::optional<NearestMiss> miss = nearest_miss(tally, static_cast<Rejection>(reason));
  return miss ? "  nearest: " + miss->words : "";
}

std::string rejections(const Tally& tally) {
  std::string out = fmt::format("\nOptions looked at {:>62}\n", whole(tally.evaluated));
  out += fmt::format("  {} {}\n", pad_right("keep every limit", 66), pad_left(whole(tally.feasible), 11));
  for (std::size_t i = 0; i < kRejections; ++i)
    if (tally.rejected[i] > 0)
      out += fmt::format("  {} {}{}\n", pad_right(EnumNames<Rejection>::names[i], 66),
                         pad_left(whole(tally.rejected[i]), 11), nearest_words(tally, i));
  return out;
}

/// Machines and degrees of a point of the front.
std::string point_words(const Json& scenario, const PlanAnswer& answer) {
  const Json& s = scenario.at("strategy");
  const auto degree = [&](const char* key) { return s.value(key, 1); };
  std::string out = fmt::format("{} t{} p{} d{}", machines(scenario, answer), degree("tensor_parallel"),
                                degree("pipeline_parallel"), degree("data_parallel"));
  for (const auto& [letter, key] : {std::pair{'c', "context_parallel"}, std::pair{'e', "expert_parallel"}})
    if (degree(key) > 1) out += fmt::format(" {}{}", letter, degree(key));
  return out;
}

std::string front_text(const PlanAnswer& answer) {
  int longest = 50;
  for (const ParetoPoint& point : answer.pareto)
    longest = std::max(longest, columns_of(point_words(point.scenario, answer)));
  std::string heads;
  const auto width = [](Objective objective) { return std::max(14, static_cast<int>(name_of(objective).size()) + 2); };
  for (const Objective objective : answer.objectives)
    heads += pad_left(std::string(name_of(objective)), width(objective));
  std::string out = fmt::format("\nPareto front, closed form; each objective relative to its best\n  {}{}\n",
                                pad_right("", longest + 2), heads);
  ObjectiveValues best;
  best.fill(std::numeric_limits<double>::infinity());
  for (const ParetoPoint& point : answer.pareto)
    for (std::size_t i = 0; i < kObjectives; ++i) best[i] = std::min(best[i], point.figures.objective[i]);
  for (const ParetoPoint& point : answer.pareto) {
    std::string line = "  " + pad_right(point_words(point.scenario, answer), longest + 2);
    for (const Objective objective : answer.objectives) {
      const auto i = static_cast<std::size_t>(objective);
      const double ratio = point.figures.objective[i] / best[i];
      line += pad_left(std::isfinite(ratio) ? fmt::format("{:.3f}", ratio) : "unknown", width(objective));
    }
    // Options that differ in what is not shown, and not in figures that are, are one line.
    if (!out.ends_with("\n" + line + "\n")) out += line + "\n";
  }
  return out;
}

std::string measuring(const PlanAnswer& answer) {
  std::string out =
      "\nNot measured together; operators, collectives and a few steps measured on such a server would decide\n";
  for (const ToMeasure& one : answer.to_measure) {
    out += fmt::format("  {} on {}: evidence {} ({})\n", one.framework, one.accelerator, name_of(one.grade), one.why);
    if (!one.command.empty()) out += fmt::format("    {}\n", one.command);
  }
  return out;
}

}  // namespace

std::string plan_text(const PlanAnswer& answer) {
  std::string out = (answer.name.empty() ? std::string("Plan") : answer.name) + "\n" + rule();
  if (answer.stopped) out += "Stopped early: the best so far\n";
  if (answer.candidates.empty())
    out += !answer.faults.empty()      ? "No option is legal.\n"
           : answer.tally.feasible > 0 ? "No option that was simulated keeps every limit.\n"
                                       : "No option keeps every limit.\n";
  for (const Fault& fault : answer.faults) out += wrapped(fault.text(), "  ", "    ");
  for (std::size_t i = 0; i < answer.candidates.size(); ++i) out += candidate_text(answer, i);
  if (!answer.pareto.empty()) out += front_text(answer);
  out += rejections(answer.tally);
  if (!answer.to_measure.empty()) out += measuring(answer);
  return out;
}

}  // namespace stepcast
