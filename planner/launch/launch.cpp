#include "planner/launch/launch.hpp"

#include "planner/launch/megatron_model.hpp"
#include "planner/launch/start.hpp"

namespace stepcast {

namespace {

constexpr const char *kMegatronFile = "megatron-arguments.txt", *kDeepspeedFile = "deepspeed.json",
                     *kTorchFile = "torch.json", *kSettingsFile = "settings.json", *kLaunchFile = "launch.sh",
                     *kJobFile = "job.slurm", *kHowFile = "launch.txt";

using Settings = LaunchSettings;

/// Megatron-LM's arguments describe transformers of words alone.
Settings settings_of(const Scenario& s) {
  const Settings own = s.framework->launch_settings;
  const bool of_words = s.model->is_transformer() && s.model->family != ModelFamily::diffusion;
  return own == Settings::megatron && !of_words ? Settings::torch : own;
}

/// What follows the name of the training script on a command line, and the script's usual name.
struct Program {
  std::string script, arguments;
  std::string settings_file;
};

const char* megatron_program(const Scenario& s) {
  if (s.model->transformer->encoder_layers > 0) return "pretrain_t5.py";
  return s.model->family == ModelFamily::encoder ? "pretrain_bert.py" : "pretrain_gpt.py";
}

Program program_of(Settings settings, const Scenario& s) {
  switch (settings) {
    case Settings::megatron:
      return {megatron_program(s), "\"${SETTINGS[@]}\"", kMegatronFile};
    case Settings::deepspeed:
      return {"train.py", "--deepspeed --deepspeed_config \"$HERE/deepspeed.json\"", kDeepspeedFile};
    case Settings::torch:
      return {"train.py", "--config \"$HERE/torch.json\"", kTorchFile};
    case Settings::jax:
    case Settings::horovod:
    case Settings::own:
      return {"train.py", "--config \"$HERE/settings.json\"", kSettingsFile};
  }
  return {};
}

std::string settings_text(Settings settings, const Scenario& s) {
  if (settings == Settings::deepspeed) return deepspeed_config(s).dump(2) + "\n";
  if (settings != Settings::megatron) return torch_config(s).dump(2) + "\n";
  std::string out;
  for (const std::string& argument : megatron_arguments(s)) out += argument + "\n";
  return out;
}

/// Reads a file of arguments as words: neither quotes nor patterns in it mean anything.
std::string read_settings(Settings settings) {
  if (settings != Settings::megatron) return {};
  return "read -r -d '' -a SETTINGS <\"$HERE/megatron-arguments.txt\" || true\n";
}

std::string beyond_settings(Settings settings, const Scenario& s) {
  std::vector<std::string> beyond;
  if (settings == Settings::megatron) beyond = beyond_megatron_arguments(s);
  if (settings == Settings::deepspeed) beyond = beyond_deepspeed_config(s);
  std::string out;
  if (!beyond.empty()) out = "# The settings have no words for what else the option has:\n";
  for (const std::string& what : beyond) out += fmt::format("#   {}\n", what);
  return out;
}

/// Queues of a device for its kernels. Megatron-LM asks for 1 where collectives are to start before the products beside
/// them, and refuses 1 with Megatron-FSDP (arguments.py); 8 is CUDA's own number (CUDA C++ Programming Guide,
/// environment variables). PyTorch's FSDP and DeepSpeed overlap by streams, which share a queue of 1.
std::string connections(Settings settings, const Scenario& s) {
  if (settings != Settings::megatron || !s.node->has_accelerators()) return {};
  return fmt::format("export CUDA_DEVICE_MAX_CONNECTIONS=${{CUDA_DEVICE_MAX_CONNECTIONS:-{}}}\n",
                     by_megatron_fsdp(s) ? 8 : 1);
}

/// Experts' tokens by DeepEP or HybridEP need their library, and HybridEP to know which devices NVLink joins
/// (Megatron-Bridge's recipes for NVL72 set both).
std::string dispatcher_lines(Settings settings, const Scenario& s) {
  const std::string backend = settings == Settings::megatron ? flex_dispatcher(s) : "";
  if (backend.empty()) return {};
  const std::string needs = "# Tokens go to their experts by the library deep_ep, which must be installed";
  if (backend != "hybridep") return needs + ".\n";
  return fmt::format(
      "{} (its branch hybrid-ep).\n"
      "export NVLINK_DOMAIN_SIZE=${{NVLINK_DOMAIN_SIZE:-{}}} USE_MNNVL=${{USE_MNNVL:-1}}\n",
      needs, s.devices_per_node());
}

std::string without_script(const Scenario& s) {
  return fmt::format(
      "{} starts its processes by programs of its own, so there is no script that starts them. settings.json says "
      "what\n"
      "the training program is to be given.\n",
      s.framework->title);
}

}  // namespace

const std::vector<std::string>& launch_file_names() {
  static const std::vector<std::string> kNames{kMegatronFile, kDeepspeedFile, kTorchFile, kSettingsFile,
                                               kLaunchFile,   kJobFile,       kHowFile};
  return kNames;
}

Json strategy_beside(const Scenario& scenario, const std::set<std::string>& told) {
  static const Json kUsual = StrategySpec::fields().write(StrategySpec{});
  // Measured, another word for the devices and their degrees, or nodes of their own.
  static const std::set<std::string> kNoSettings{"framework", "data_parallel", "step_spread", "actors"};
  static const std::set<std::string> kToldByAll{"tensor_parallel",
                                                "sequence_parallel",
                                                "pipeline_parallel",
                                                "virtual_pipeline",
                                                "context_parallel",
                                                "context_method",
                                                "expert_parallel",
                                                "micro_batch",
                                                "schedule",
                                                "stage_layers",
                                                "recompute",
                                                "recompute_layers",
                                                "sharding",
                                                "order",
                                                "gradients_in_fp32",
                                                "optimizer",
                                                "parameters_in_16_bit",
                                                "attention_kernel",
                                                "torch_compile",
                                                "offload_optimizer",
                                                "offload_optimizer_device"};
  const Json all = StrategySpec::fields().write(scenario.spec.strategy);
  Json out = Json::object();
  for (const auto& [key, value] : all.items()) {
    const bool usual = kUsual.value(key, Json()) == value;
    const bool synchronous = key == "update" && scenario.update == UpdateMode::synchronous;
    if (!usual && !synchronous && !kNoSettings.contains(key) && !kToldByAll.contains(key) && !told.contains(key))
      out[key] = value;
  }
  return out;
}

std::vector<std::string> words_beside(const Scenario& scenario, const std::set<std::string>& told) {
  std::vector<std::string> out;
  const Json beside = strategy_beside(scenario, told);
  for (const auto& [key, value] : beside.items())
    out.push_back(fmt::format("{} {}", key, value.is_string() ? value.get<std::string>() : value.dump()));
  return out;
}

std::vector<NamedText> launch_files(const Scenario& scenario) {
  const Settings settings = settings_of(scenario);
  const Program program = program_of(settings, scenario);
  std::vector<NamedText> out{{program.settings_file, settings_text(settings, scenario)}};
  const std::string before =
      read_settings(settings) + dispatcher_lines(settings, scenario) + connections(settings, scenario);
  const std::optional<std::string> script =
      launch_script(scenario, {program.script, program.arguments, before, beyond_settings(settings, scenario)});
  if (!script) return {out.front(), {kHowFile, without_script(scenario)}};
  out.push_back({kLaunchFile, *script});
  out.push_back({kJobFile, slurm_job(scenario)});
  return out;
}

}  // namespace stepcast
