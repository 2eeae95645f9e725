#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace stepcast::probes {

/// What a host tells of itself; unknown figures are 0, unknown words empty.
struct HostFacts {
  std::string name, kernel, os, cpu;
  int cores = 0;
  std::int64_t memory_bytes = 0;
  double cpu_MHz = 0;                            ///< mean over cores, now
  std::string launcher;                          ///< mpirun, srun, torchrun or none, by their environment variables
  std::string job;                               ///< Slurm's job id
  std::map<std::string, std::string> variables;  ///< that steer NCCL, MPI, UCX and libfabric
};

HostFacts host_facts();

/// Value of an environment variable, or empty.
std::string environment_variable(const char* name);

}  // namespace stepcast::probes
