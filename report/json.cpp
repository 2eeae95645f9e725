#include "report/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "fields/rounded.hpp"
#include "report/run_outlook.hpp"
#include "report/updates_json.hpp"

namespace stepcast {

namespace {

constexpr Bytes kGiB = 1_GiB;
constexpr DollarsPerSecond kPerHour = 1_usd / 1_h;

template <class Q>
double in(Q quantity, Q unit) {
  return rounded(quantity.in(unit));
}

Json seconds(Seconds t) { return in(t, 1_s); }

Json shares_json(const std::map<std::string, CommunicationMetrics::Share>& shares) {
  Json out = Json::object();
  for (const auto& [name, share] : shares)
    out[name] = {{"total_s", seconds(share.total)}, {"exposed_s", seconds(share.exposed)}};
  return out;
}

Json footprint_json(const MemoryFootprint& footprint) {
  return {{"parameters", in(footprint.parameters, kGiB)}, {"gradients", in(footprint.gradients, kGiB)},
          {"optimizer", in(footprint.optimizer, kGiB)},   {"activations", in(footprint.activations, kGiB)},
          {"buffers", in(footprint.buffers, kGiB)},       {"workspace", in(footprint.workspace, kGiB)},
          {"libraries", in(footprint.libraries, kGiB)},   {"allocator_slack", in(footprint.slack, kGiB)}};
}

Json memory_json(const MemoryReport& memory) {
  const MemoryFootprint worst = memory.stages.empty() ? MemoryFootprint{} : memory.stages.at(memory.worst_stage);
  Json stages = Json::array(), categories = Json::array(), on_hosts = Json::array();
  for (const MemoryFootprint& stage : memory.stages) {
    stages.push_back(in(stage.total(), kGiB));
    on_hosts.push_back(in(stage.host, kGiB));
    categories.push_back(footprint_json(stage));
  }
  return {{"fits", memory.fits},
          {"peak_GiB", in(worst.total(), kGiB)},
          {"capacity_GiB", in(memory.capacity, kGiB)},
          {"host_GiB", in(memory.host(), kGiB)},
          {"host_capacity_GiB", in(memory.host_capacity, kGiB)},
          {"worst_stage", memory.worst_stage},
          {"by_category_GiB", footprint_json(worst)},
          {"by_stage_GiB", std::move(stages)},
          {"by_stage_and_category_GiB", std::move(categories)},
          {"host_by_stage_GiB", std::move(on_hosts)},
          {"phase", memory.phase.empty() ? Json(nullptr) : Json(memory.phase)},
          {"advice", memory.advice}};
}

/// Every number of a document to the digits of `rounded`.
void round_numbers(Json& document) {
  if (document.is_number_float()) document = rounded(document.get<double>());
  if (document.is_structured())
    for (Json& inner : document) round_numbers(inner);
}

/// The outlook's fields stand beside the step's; what scripts look for is null rather than missing.
void add_outlook_json(Json& out, const RunOutlook& outlook) {
  Json fields = RunOutlook::fields().write(outlook);
  round_numbers(fields);
  for (auto& [key, value] : fields.items()) out[key] = std::move(value);
  if (!outlook.input.samples_per_s) out["input_pipeline"]["samples_per_s"] = nullptr;
  if (!outlook.carbon.run_kg) out["carbon"]["run_kg"] = nullptr;
  if (!outlook.run) out["run"] = nullptr;
  if (!outlook.goodput.between_interruptions) out["goodput"]["between_interruptions_h"] = nullptr;
  out["power"]["fabric_W"] = outlook.facility.fabric ? Json(in(*outlook.facility.fabric, 1_W)) : Json(nullptr);
  out["energy"]["run_kWh"] = outlook.run ? Json(in(outlook.run->energy, 1_kWh)) : Json(nullptr);
}

Json degrees_json(const Degrees& d) {
  return {{"tensor", d.tp},
          {"pipeline", d.pp},
          {"virtual_pipeline", d.vpp},
          {"context", d.cp},
          {"expert", d.ep},
          {"expert_tensor", d.etp},
          {"data", d.dp},
          {"micro_batch", d.micro_batch},
          {"micro_batches", d.micro_batches}};
}

template <class Q>
Json optional(const std::optional<Q>& quantity, Q unit) {
  return quantity ? Json(in(*quantity, unit)) : Json(nullptr);
}

std::map<std::string, CommunicationMetrics::Share> shares_from(const Json& document) {
  std::map<std::string, CommunicationMetrics::Share> out;
  for (const auto& [name, share] : document.items())
    out[name] = {Seconds(share.at("total_s").get<double>()), Seconds(share.at("exposed_s").get<double>())};
  return out;
}

Bytes gib(const Json& document, const char* key) { return document.at(key).get<double>() * kGiB; }

MemoryFootprint footprint_from(const Json& document) {
  return {gib(document, "parameters"),  gib(document, "gradients"),      gib(document, "optimizer"),
          gib(document, "activations"), gib(document, "buffers"),        gib(document, "workspace"),
          gib(document, "libraries"),   gib(document, "allocator_slack")};
}

MemoryReport memory_from(const Json& document) {
  MemoryReport out;
  out.fits = document.at("fits").get<bool>();
  out.capacity = gib(document, "capacity_GiB");
  out.worst_stage = document.at("worst_stage").get<int>();
  for (const Json& stage : document.at("by_stage_and_category_GiB")) out.stages.push_back(footprint_from(stage));
  out.host_capacity = document.value("host_capacity_GiB", 0.0) * kGiB;
  const Json on_hosts = document.value("host_by_stage_GiB", Json::array());
  for (std::size_t stage = 0; stage < std::min(on_hosts.size(), out.stages.size()); ++stage)
    out.stages[stage].host = on_hosts[stage].get<double>() * kGiB;
  const int stages = static_cast<int>(out.stages.size());
  if (out.worst_stage < 0 || out.worst_stage >= std::max(1, stages))
    throw std::runtime_error(
        fmt::format("not a prediction: /memory/worst_stage: found {}, there are {} stages", out.worst_stage, stages));
  if (document.contains("phase") && document.at("phase").is_string())
    out.phase = document.at("phase").get<std::string>();
  out.advice = document.at("advice").get<std::vector<std::string>>();
  return out;
}

Degrees degrees_from(const Json& document) {
  Degrees out;
  out.tp = document.at("tensor").get<int>();
  out.pp = document.at("pipeline").get<int>();
  out.vpp = document.at("virtual_pipeline").get<int>();
  out.cp = document.at("context").get<int>();
  out.ep = document.at("expert").get<int>();
  out.etp = document.value("expert_tensor", out.tp);  // older predictions lack it
  out.dp = document.at("data").get<int>();
  out.micro_batch = document.at("micro_batch").get<long>();
  out.micro_batches = document.at("micro_batches").get<long>();
  return out;
}

Seconds time_at(const Json& document, const char* key) { return Seconds(document.at(key).get<double>()); }

double number_or_zero(const Json& value) { return value.is_null() ? 0 : value.get<double>(); }

void read_rates(Prediction& out, const Json& document) {
  out.step_time = time_at(document, "step_time_s");
  const Json& evidence = document.at("evidence");
  out.expected_error.grade = *parse_enum<EvidenceGrade>(evidence.at("grade").get<std::string>());
  out.expected_error.why = evidence.at("why").get<std::string>();
  out.expected_error.share_80 = std::log1p(evidence.at("interval_80_percent").get<double>() / 100);
  out.samples_per_s = document.at("samples_per_s").get<double>();
  out.samples_per_s_per_gpu = document.at("samples_per_s_per_gpu").get<double>();
  out.tokens_per_s = number_or_zero(document.at("tokens_per_s"));
  out.tokens_per_s_per_gpu = number_or_zero(document.at("tokens_per_s_per_gpu"));
  out.model_tflops_per_gpu = document.at("model_tflops_per_gpu").get<double>();
  out.hardware_tflops_per_gpu = document.at("hardware_tflops_per_gpu").get<double>();
  out.mfu = document.at("mfu").get<double>();
  out.hfu = document.at("hfu").get<double>();
  out.flop_convention.causal_halved = document.at("flop_convention").at("causal_halved").get<bool>();
  out.flop_convention.output_layer = document.at("flop_convention").at("output_layer").get<bool>();
  out.gpu_utilization = document.at("gpu_utilization").get<double>();
}

void read_times(Prediction& out, const Json& document) {
  const Json& communication = document.at("communication");
  out.communication.total = time_at(communication, "total_s");
  out.communication.exposed = time_at(communication, "exposed_s");
  out.communication.by_kind = shares_from(communication.at("by_kind"));
  out.communication.by_dimension = shares_from(communication.at("by_dimension"));
  out.compute = time_at(document, "compute_s");
  out.optimizer = time_at(document, "optimizer_s");
  out.overhead = time_at(document, "overhead_s");
  out.host = time_at(document, "host_s");
  out.bubble = time_at(document, "bubble_s");
  out.synchronization_wait = time_at(document, "synchronization_wait_s");
}

void read_run(Prediction& out, const Json& document) {
  const Json& power = document.at("power");
  out.average_power = Watts(power.at("average_W").get<double>());
  out.peak_power = Watts(power.at("peak_W").get<double>());
  out.device_average_power = Watts(power.at("device_average_W").get<double>());
  out.energy_per_step = Joules(document.at("energy").at("per_step_J").get<double>());
  out.energy_per_sample = Joules(document.at("energy").at("per_sample_J").get<double>());
  const Json& cost = document.at("cost");
  if (!cost.at("per_hour_usd").is_null()) out.cost_rate = cost.at("per_hour_usd").get<double>() * kPerHour;
  if (!cost.at("basis").is_null()) out.cost_basis = cost.at("basis").get<std::string>();
  if (!cost.at("run_usd").is_null()) out.run_cost = Dollars(cost.at("run_usd").get<double>());
  if (!document.at("time_to_train_s").is_null()) out.time_to_train = time_at(document, "time_to_train_s");
}

struct Figure {
  const char* name;
  double value;
};

std::vector<Figure> figures_of(const Prediction& p) {
  std::vector<Figure> out{
      {"step_time_s", p.step_time.value()},
      {"samples_per_s", p.samples_per_s},
      {"tokens_per_s", p.tokens_per_s},
      {"model_tflops_per_gpu", p.model_tflops_per_gpu},
      {"hardware_tflops_per_gpu", p.hardware_tflops_per_gpu},
      {"mfu", p.mfu},
      {"hfu", p.hfu},
      {"communication.total_s", p.communication.total.value()},
      {"communication.exposed_s", p.communication.exposed.value()},
      {"compute_s", p.compute.value()},
      {"optimizer_s", p.optimizer.value()},
      {"overhead_s", p.overhead.value()},
      {"host_s", p.host.value()},
      {"bubble_s", p.bubble.value()},
      {"synchronization_wait_s", p.synchronization_wait.value()},
      {"memory.capacity_GiB", p.memory.capacity.value()},
      {"memory.host_GiB", p.memory.host().value()},
      {"gpu_utilization", p.gpu_utilization},
      {"power.average_W", p.average_power.value()},
      {"power.peak_W", p.peak_power.value()},
      {"power.device_average_W", p.device_average_power.value()},
      {"energy.per_step_J", p.energy_per_step.value()},
      {"energy.per_sample_J", p.energy_per_sample.value()},
      {"cost.per_hour_usd", p.cost_rate.value_or(DollarsPerSecond{}).value()},
      {"cost.run_usd", p.run_cost.value_or(Dollars{}).value()},
      {"time_to_train_s", p.time_to_train.value_or(Seconds{}).value()},
  };
  for (const MemoryFootprint& stage : p.memory.stages) out.push_back({"memory.by_stage_GiB", stage.total().value()});
  for (const auto* shares : {&p.communication.by_kind, &p.communication.by_dimension})
    for (const auto& [name, share] : *shares) {
      out.push_back({"communication.total_s of a share", share.total.value()});
      out.push_back({"communication.exposed_s of a share", share.exposed.value()});
    }
  return out;
}

}  // namespace

void check_figures(const Prediction& prediction) {
  if (!(prediction.step_time > Seconds(0)))
    throw std::logic_error(fmt::format("prediction: step_time_s is {}", prediction.step_time.value()));
  for (const auto& [name, value] : figures_of(prediction))
    if (!std::isfinite(value) || value < 0) throw std::logic_error(fmt::format("prediction: {} is {}", name, value));
}

Json to_json(const Prediction& p) {
  check_figures(p);
  const bool has_tokens = p.tokens_per_s > 0;
  Json out;
  out["scenario"] = p.scenario_name;
  out["step_time_s"] = seconds(p.step_time);
  out["evidence"] = {{"grade", name_of(p.expected_error.grade)},
                     {"why", p.expected_error.why},
                     {"interval_80_percent", rounded(100 * std::expm1(p.expected_error.share_80))},
                     {"step_time_low_s", seconds(p.step_time_low())},
                     {"step_time_high_s", seconds(p.step_time_high())}};
  out["samples_per_s"] = rounded(p.samples_per_s);
  out["tokens_per_s"] = has_tokens ? Json(rounded(p.tokens_per_s)) : Json(nullptr);
  out["samples_per_s_per_gpu"] = rounded(p.samples_per_s_per_gpu);
  out["tokens_per_s_per_gpu"] = has_tokens ? Json(rounded(p.tokens_per_s_per_gpu)) : Json(nullptr);
  out["model_tflops_per_gpu"] = rounded(p.model_tflops_per_gpu);
  out["hardware_tflops_per_gpu"] = rounded(p.hardware_tflops_per_gpu);
  out["mfu"] = rounded(p.mfu);
  out["hfu"] = rounded(p.hfu);
  out["flop_convention"] = {{"causal_halved", p.flop_convention.causal_halved},
                            {"output_layer", p.flop_convention.output_layer}};
  out["communication"] = {{"total_s", seconds(p.communication.total)},
                          {"exposed_s", seconds(p.communication.exposed)},
                          {"by_kind", shares_json(p.communication.by_kind)},
                          {"by_dimension", shares_json(p.communication.by_dimension)}};
  out["compute_s"] = seconds(p.compute);
  out["optimizer_s"] = seconds(p.optimizer);
  out["overhead_s"] = seconds(p.overhead);
  out["host_s"] = seconds(p.host);
  out["bubble_s"] = seconds(p.bubble);
  out["synchronization_wait_s"] = seconds(p.synchronization_wait);
  out["memory"] = memory_json(p.memory);
  out["gpu_utilization"] = rounded(p.gpu_utilization);
  out["power"] = {{"average_W", in(p.average_power, 1_W)},
                  {"peak_W", in(p.peak_power, 1_W)},
                  {"device_average_W", in(p.device_average_power, 1_W)}};
  out["energy"] = {{"per_step_J", in(p.energy_per_step, 1_J)}, {"per_sample_J", in(p.energy_per_sample, 1_J)}};
  out["cost"] = {{"per_hour_usd", optional(p.cost_rate, kPerHour)},
                 {"run_usd", optional(p.run_cost, 1_usd)},
                 {"basis", p.cost_basis.empty() ? Json(nullptr) : Json(p.cost_basis)}};
  out["time_to_train_s"] = optional(p.time_to_train, 1_s);
  out["staleness"] = p.updates && p.updates->staleness ? staleness_json(*p.updates->staleness) : Json(nullptr);
  out["updates"] = p.updates ? updates_json(*p.updates) : Json(nullptr);
  out["devices"] = p.devices;
  out["nodes"] = p.nodes;
  out["parallelism"] = degrees_json(p.degrees);
  out["fidelity"] = p.fidelity;
  out["version"] = p.version;
  out["catalog_hash"] = p.catalog_hash;
  out["assumptions"] = p.assumptions;
  if (p.outlook) add_outlook_json(out, *p.outlook);
  return out;
}

Prediction prediction_from_json(const Json& document) {
  try {
    Prediction out;
    out.scenario_name = document.at("scenario").get<std::string>();
    read_rates(out, document);
    read_times(out, document);
    out.memory = memory_from(document.at("memory"));
    read_run(out, document);
    if (!document.at("updates").is_null()) out.updates = updates_from(document);
    out.devices = document.at("devices").get<int>();
    out.nodes = document.at("nodes").get<int>();
    out.degrees = degrees_from(document.at("parallelism"));
    out.fidelity = document.at("fidelity").get<std::string>();
    out.version = document.at("version").get<std::string>();
    out.catalog_hash = document.at("catalog_hash").get<std::string>();
    out.assumptions = document.at("assumptions").get<std::vector<std::string>>();
    if (document.contains("goodput")) out.outlook = std::make_shared<const RunOutlook>(run_outlook_from_json(document));
    return out;
  } catch (const Json::exception& error) {
    throw std::runtime_error(fmt::format("not a prediction: {}", error.what()));
  }
}

}  // namespace stepcast
