#include "planner/launch/launch.hpp"

#include "planner/launch/megatron_model.hpp"

namespace stepcast {

namespace {

constexpr int kPort = 29500;  // torchrun's usual rendezvous port

constexpr const char *kMegatronFile = "megatron-arguments.txt", *kDeepspeedFile = "deepspeed.json",
                     *kTorchFile = "torch.json", *kLaunchFile = "launch.sh", *kJobFile = "job.slurm";

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
  }
  return {};
}

std::string settings_text(Settings settings, const Scenario& s) {
  if (settings == Settings::deepspeed) return deepspeed_config(s).dump(2) + "\n";
  if (settings == Settings::torch) return torch_config(s).dump(2) + "\n";
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
/// environment variables).
int connections(Settings settings, const Scenario& s) {
  return settings == Settings::megatron && by_megatron_fsdp(s) ? 8 : 1;
}

/// What processes start on: trays of a rack are servers of their own (compute_trays of the catalogue: 18 of an NVL72).
struct Hosts {
  int count = 1, devices = 1;
};

Hosts hosts_of(const Scenario& s) {
  const auto trays = s.node->figures.find("compute_trays");
  const int each = trays == s.node->figures.end() ? 1 : static_cast<int>(trays->second);
  return {s.spec.cluster.nodes * each, s.devices_per_node() / each};
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

std::string torchrun_script(const Scenario& s, Settings settings, const Program& program) {
  const Hosts hosts = hosts_of(s);
  return fmt::format(
      "#!/usr/bin/env bash\n"
      "# Starts one server's share: run it on all {nodes} servers with MASTER_ADDR (name or address of the first) and\n"
      "# NODE_RANK (0 to {last}) set. TRAIN_SCRIPT names the training program; further arguments go to it.\n"
      "{beyond}"
      "set -euo pipefail\n"
      "HERE=$(cd \"$(dirname \"${{BASH_SOURCE[0]}}\")\" && pwd)\n"
      "{read}"
      "{dispatcher}"
      "export CUDA_DEVICE_MAX_CONNECTIONS=${{CUDA_DEVICE_MAX_CONNECTIONS:-{connections}}}\n"
      "exec torchrun --nnodes {nodes} --nproc-per-node {devices} --node-rank \"${{NODE_RANK:?}}\" \\\n"
      "  --master-addr \"${{MASTER_ADDR:?}}\" --master-port \"${{MASTER_PORT:-{port}}}\" \\\n"
      "  \"${{TRAIN_SCRIPT:-{script}}}\" {arguments} \"$@\"\n",
      fmt::arg("nodes", hosts.count), fmt::arg("last", hosts.count - 1), fmt::arg("devices", hosts.devices),
      fmt::arg("dispatcher", dispatcher_lines(settings, s)), fmt::arg("port", kPort),
      fmt::arg("script", program.script), fmt::arg("arguments", program.arguments),
      fmt::arg("read", read_settings(settings)), fmt::arg("beyond", beyond_settings(settings, s)),
      fmt::arg("connections", connections(settings, s)));
}

std::string slurm_job(const Scenario& s) {
  const Hosts hosts = hosts_of(s);
  std::string out = fmt::format(
      "#!/usr/bin/env bash\n"
      "#SBATCH --job-name=stepcast-plan\n"
      "#SBATCH --nodes={}\n"
      "#SBATCH --ntasks-per-node=1\n",
      hosts.count);
  if (s.node->has_accelerators()) out += fmt::format("#SBATCH --gpus-per-node={}\n", hosts.devices);
  out +=
      "#SBATCH --exclusive\n"
      "# Submit from the folder that holds launch.sh: sbatch job.slurm. Partition, account and time limit are the "
      "site's.\n"
      "set -euo pipefail\n"
      "MASTER_ADDR=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n 1)\n"
      "export MASTER_ADDR\n"
      "srun --kill-on-bad-exit=1 bash -c 'NODE_RANK=$SLURM_NODEID exec bash \"$SLURM_SUBMIT_DIR/launch.sh\" \"$@\"' "
      "launch \"$@\"\n";
  return out;
}

}  // namespace

const std::vector<std::string>& launch_file_names() {
  static const std::vector<std::string> kNames{kMegatronFile, kDeepspeedFile, kTorchFile, kLaunchFile, kJobFile};
  return kNames;
}

std::vector<NamedText> launch_files(const Scenario& scenario) {
  const Settings settings = settings_of(scenario);
  const Program program = program_of(settings, scenario);
  return {{program.settings_file, settings_text(settings, scenario)},
          {kLaunchFile, torchrun_script(scenario, settings, program)},
          {kJobFile, slurm_job(scenario)}};
}

}  // namespace stepcast
