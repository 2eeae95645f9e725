#include "calibration/probes/common/host_facts.hpp"

#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <thread>

namespace stepcast::probes {
namespace {

/// What follows the colon or equals sign of a line that begins with a key.
std::string value_after(const std::string& line, char separator) {
  const std::size_t at = line.find(separator);
  if (at == std::string::npos) return {};
  const std::size_t begin = line.find_first_not_of(" \t\"", at + 1);
  const std::size_t end = line.find_last_not_of(" \t\"");
  return begin == std::string::npos ? std::string() : line.substr(begin, end - begin + 1);
}

void read_cpuinfo(HostFacts& facts) {
  std::ifstream in("/proc/cpuinfo");
  double sum = 0;
  int cores = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("model name")) facts.cpu = value_after(line, ':');
    if (line.starts_with("cpu MHz")) {
      sum += std::strtod(value_after(line, ':').c_str(), nullptr);
      ++cores;
    }
  }
  if (cores > 0) facts.cpu_MHz = std::round(sum / cores);
}

void read_variables(HostFacts& facts) {
  constexpr std::array kPrefixes{"NCCL_", "RCCL_", "OMPI_MCA_", "UCX_", "FI_", "MPICH_", "I_MPI_"};
  constexpr std::array kNames{"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_MAX_CONNECTIONS", "OMP_NUM_THREADS"};
  for (char** entry = environ; *entry; ++entry) {
    const std::string text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) continue;
    const std::string name = text.substr(0, equals);
    bool kept = false;
    for (const char* prefix : kPrefixes) kept = kept || name.starts_with(prefix);
    for (const char* whole : kNames) kept = kept || name == whole;
    // Launchers pass their own addresses and paths this way; they steer nothing and differ in every run.
    if (name.starts_with("OMPI_MCA_") &&
        (name.find("orte") != std::string::npos || name.find("ess") != std::string::npos ||
         name.find("pmix") != std::string::npos || name.find("initial_wdir") != std::string::npos))
      kept = false;
    if (kept) facts.variables[name] = text.substr(equals + 1);
  }
}

std::string launcher() {
  if (!environment_variable("OMPI_COMM_WORLD_RANK").empty() || !environment_variable("PMI_RANK").empty())
    return "mpirun";
  if (!environment_variable("TORCHELASTIC_RUN_ID").empty() || !environment_variable("LOCAL_WORLD_SIZE").empty())
    return "torchrun";
  if (!environment_variable("SLURM_PROCID").empty()) return "srun";
  return "none";
}

}  // namespace

std::string environment_variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

HostFacts host_facts() {
  HostFacts facts;
  utsname names{};
  if (uname(&names) == 0) {
    facts.name = names.nodename;
    facts.kernel = names.release;
  }
  std::ifstream release("/etc/os-release");
  for (std::string line; std::getline(release, line);)
    if (line.starts_with("PRETTY_NAME=")) facts.os = value_after(line, '=');
  read_cpuinfo(facts);
  facts.cores = static_cast<int>(std::thread::hardware_concurrency());
  facts.memory_bytes = static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  facts.launcher = launcher();
  facts.job = environment_variable("SLURM_JOB_ID");
  read_variables(facts);
  return facts;
}

}  // namespace stepcast::probes
