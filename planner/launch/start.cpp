#include "planner/launch/start.hpp"

#include <fmt/format.h>

namespace stepcast {

namespace {

constexpr int kPort = 29500;  // torchrun's usual rendezvous port

/// What processes start on: trays of a rack are servers of their own (compute_trays of the catalogue: 18 of an NVL72).
struct Hosts {
  int count = 1, devices = 1;
};

Hosts hosts_of(const Scenario& s) {
  const auto trays = s.node->figures.find("compute_trays");
  const int each = trays == s.node->figures.end() ? 1 : static_cast<int>(trays->second);
  return {s.spec.cluster.nodes * each, s.devices_per_node() / each};
}

/// What sets a device's power limit or clock; empty where the maker's tool is not known to.
std::string limiting_command(const std::string& maker, const ClusterSpec& cluster) {
  const bool nvidia = maker == "NVIDIA", amd = maker == "AMD";
  std::string out;
  if (cluster.power_cap && nvidia) out += fmt::format("nvidia-smi --power-limit={:g}", cluster.power_cap->in(1_W));
  if (cluster.power_cap && amd) out += fmt::format("rocm-smi --setpoweroverdrive {:g}", cluster.power_cap->in(1_W));
  if (cluster.clock_MHz && nvidia)
    out += fmt::format("{}nvidia-smi --lock-gpu-clocks=0,{:g}", out.empty() ? "" : " && ", *cluster.clock_MHz);
  const bool all = !cluster.clock_MHz || nvidia;
  return all ? out : std::string{};
}

/// The plan rests on limits that only an administrator may set; who starts the training may not be one. `on_each`: the
/// script runs on each server, or else on the first alone.
std::string limits(const Scenario& s, bool on_each) {
  const ClusterSpec& cluster = s.spec.cluster;
  if (!cluster.power_cap && !cluster.clock_MHz) return {};
  std::string what;
  if (cluster.power_cap) what = fmt::format("to {:g} W", cluster.power_cap->in(1_W));
  if (cluster.clock_MHz) what += fmt::format("{}to {:g} MHz", what.empty() ? "" : " and ", *cluster.clock_MHz);
  const std::string command = limiting_command(s.accelerator != nullptr ? s.accelerator->vendor : "", cluster);
  if (command.empty()) return fmt::format("# The plan holds each device {}: set that before.\n", what);
  if (!on_each)
    return fmt::format("# The plan holds each device {}: set that before, on all servers: {}\n", what, command);
  return fmt::format(
      "# The plan holds each device {0}, which an administrator may set.\n"
      "({1}) >/dev/null || echo \"launch.sh: devices are not held {0}, on which the plan rests\" >&2\n",
      what, command);
}

/// How a framework's processes are started.
struct Start {
  std::string how;  ///< in comments
  std::string command;
  bool on_each = true;  ///< run on each server, or else on the first alone
};

Start by_torchrun(const Hosts& hosts) {
  return {fmt::format("# Starts one server's share: run it on all {} servers with MASTER_ADDR (name or address of the "
                      "first) and\n# NODE_RANK (0 to {}) set.",
                      hosts.count, hosts.count - 1),
          fmt::format("torchrun --nnodes {} --nproc-per-node {} --node-rank \"${{NODE_RANK:?}}\" \\\n"
                      "  --master-addr \"${{MASTER_ADDR:?}}\" --master-port \"${{MASTER_PORT:-{}}}\" \\\n ",
                      hosts.count, hosts.devices, kPort)};
}

/// jax.distributed.initialize() finds address, number and rank of the processes by itself on TPUs, under Slurm and
/// under Open MPI (its documentation).
Start by_jax(const Hosts& hosts) {
  return {
      fmt::format("# Starts one server's process, which drives its {} devices: run it on all {} servers at once, on "
                  "TPUs or under\n# Slurm, where jax.distributed.initialize() in the training program finds the "
                  "others by itself.",
                  hosts.devices, hosts.count),
      "python3"};
}

Start by_horovodrun(const Hosts& hosts) {
  return {
      fmt::format("# Starts all processes from one server: HOSTS names the {0} servers with their devices, such as\n"
                  "# first:{1},second:{1}.",
                  hosts.count, hosts.devices),
      fmt::format("horovodrun -np {} -H \"${{HOSTS:?}}\" python3", hosts.count * hosts.devices), false};
}

std::optional<Start> start_of(const Scenario& s) {
  const Hosts hosts = hosts_of(s);
  switch (s.framework->launch_settings) {
    case LaunchSettings::torch:
    case LaunchSettings::deepspeed:
    case LaunchSettings::megatron:
      return by_torchrun(hosts);
    case LaunchSettings::jax:
      return by_jax(hosts);
    case LaunchSettings::horovod:
      return by_horovodrun(hosts);
    case LaunchSettings::own:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> launch_script(const Scenario& s, const StartedProgram& program) {
  const std::optional<Start> start = start_of(s);
  if (!start) return std::nullopt;
  return fmt::format(
      "#!/usr/bin/env bash\n"
      "{how} TRAIN_SCRIPT names the training program; further arguments go to it.\n"
      "{beyond}"
      "set -euo pipefail\n"
      "HERE=$(cd \"$(dirname \"${{BASH_SOURCE[0]}}\")\" && pwd)\n"
      "{before}"
      "{limits}"
      "exec {command} \"${{TRAIN_SCRIPT:-{script}}}\" {arguments} \"$@\"\n",
      fmt::arg("how", start->how), fmt::arg("command", start->command), fmt::arg("script", program.script),
      fmt::arg("arguments", program.arguments), fmt::arg("before", program.before), fmt::arg("beyond", program.beyond),
      fmt::arg("limits", limits(s, start->on_each)));
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
      "set -euo pipefail\n";
  if (s.framework->launch_settings == LaunchSettings::horovod)
    return out + fmt::format(
                     "HOSTS=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | sed 's/$/:{}/' | paste -sd,)\n"
                     "export HOSTS\n"
                     "exec bash \"$SLURM_SUBMIT_DIR/launch.sh\" \"$@\"\n",
                     hosts.devices);
  return out +
         "MASTER_ADDR=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n 1)\n"
         "export MASTER_ADDR\n"
         "srun --kill-on-bad-exit=1 bash -c 'NODE_RANK=$SLURM_NODEID exec bash \"$SLURM_SUBMIT_DIR/launch.sh\" "
         "\"$@\"' launch \"$@\"\n";
}

}  // namespace stepcast
