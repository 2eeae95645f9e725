#include "calibration/probes/nccl/launch.hpp"

#include <array>

#include "calibration/probes/common/fault.hpp"
#include "calibration/probes/common/host_facts.hpp"
#include "calibration/probes/common/sizes.hpp"

namespace stepcast::probes {
namespace {

struct LauncherVariables {
  const char *name, *rank, *processes, *local_rank, *local_processes, *run;
};

// Documented by Open MPI (mpirun(1)), MPICH's Hydra and Intel MPI, torchrun ("Environment Variables"), srun(1).
constexpr std::array kLaunchers{
    LauncherVariables{"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
                      "OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_MCA_ess_base_jobid"},
    LauncherVariables{"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "TORCHELASTIC_RUN_ID"},
    LauncherVariables{"mpirun", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", "PMI_ID"},
    LauncherVariables{"srun", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "", "SLURM_STEP_ID"}};

constexpr int kMostProcesses = 1 << 20;

int number_of(const char* name, int least, int most) {
  try {
    return static_cast<int>(parse_integer(environment_variable(name), least, most));
  } catch (const Fault& fault) {
    throw bad_input(std::string(name) + ": " + fault.what());
  }
}

/// The first host of Slurm's list, as node[003-007,12] or a1,a2.
std::string first_host_of(const std::string& list) {
  const std::size_t bracket = list.find('['), comma = list.find(',');
  if (bracket == std::string::npos || comma < bracket) return list.substr(0, comma);
  const std::size_t end = list.find_first_of("-,]", bracket);
  const std::size_t close = list.find(']', bracket);
  if (end == std::string::npos || close == std::string::npos) return {};
  const std::string suffix = list.substr(close + 1, list.find(',', close) - close - 1);
  return list.substr(0, bracket) + list.substr(bracket + 1, end - bracket - 1) + suffix;
}

}  // namespace

LaunchPlace launch_place() {
  LaunchPlace place;
  for (const LauncherVariables& launcher : kLaunchers) {
    if (environment_variable(launcher.rank).empty() || environment_variable(launcher.processes).empty()) continue;
    place.launcher = launcher.name;
    place.processes = number_of(launcher.processes, 1, kMostProcesses);
    place.rank = number_of(launcher.rank, 0, place.processes - 1);
    if (!environment_variable(launcher.local_rank).empty())
      place.local_rank = number_of(launcher.local_rank, 0, kMostProcesses);
    // Slurm tells no number of local tasks in a form for one host; it is not needed with one process per GPU.
    if (*launcher.local_processes && !environment_variable(launcher.local_processes).empty())
      place.local_processes = number_of(launcher.local_processes, 1, place.processes);
    place.run = environment_variable(launcher.run);
    if (const std::string job = environment_variable("SLURM_JOB_ID"); !job.empty()) place.run = job + "." + place.run;
    break;
  }
  place.first_host = environment_variable("MASTER_ADDR");
  if (place.first_host.empty()) {
    const std::string step = environment_variable("SLURM_STEP_NODELIST");
    place.first_host = first_host_of(step.empty() ? environment_variable("SLURM_JOB_NODELIST") : step);
  }
  return place;
}

Rendezvous complete(Rendezvous asked, const LaunchPlace& place) {
  if (!asked.file.empty() || place.processes == 1) return asked;
  constexpr const char* kPort = "29471";  // unassigned; torchrun's own default is 29400, its users' 29500
  if (asked.address.empty()) {
    const bool one_host = place.local_processes == place.processes;
    const std::string host = one_host ? "127.0.0.1" : place.first_host;
    if (host.empty())
      throw bad_input(
          "--rendezvous: " + place.launcher +
          " does not tell the host of rank 0; add --rendezvous HOST:PORT of it, or --id-file on a shared file system");
    asked.address = host + ":" + kPort;
  }
  if (asked.address.find(':') == std::string::npos) asked.address += std::string(":") + kPort;
  return asked;
}

}  // namespace stepcast::probes
