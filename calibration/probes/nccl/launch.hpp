#pragma once

#include <string>

#include "calibration/probes/nccl/nccl_library.hpp"

namespace stepcast::probes {

/// Where this process stands among those that a launcher started.
struct LaunchPlace {
  int rank = 0, processes = 1;
  int local_rank = 0, local_processes = 1;
  std::string launcher = "none";  ///< mpirun, srun, torchrun or none
  std::string run;                ///< what tells this run from an earlier one, where the launcher has such a thing
  std::string first_host;         ///< address of the host of rank 0, where the launcher tells it
};

/// Reads the variables of Open MPI, MPICH and Intel MPI, torchrun and Slurm, in this order: torchrun and mpirun are
/// started by srun often. Throws Fault (bad input) on values that are no numbers or do not fit together.
LaunchPlace launch_place();

/// How processes find the identifier of their communicator.
struct Rendezvous {
  std::string file;     ///< on a file system that all hosts share; empty: by TCP
  std::string address;  ///< host:port of rank 0
  int timeout_s = 60;
};

/// The same, with what the launcher tells filled in. Throws Fault (bad input) when it tells too little, with what to
/// add.
Rendezvous complete(Rendezvous asked, const LaunchPlace& place);

/// Gives rank 0's identifier to every process. Throws Fault (check failed) when they do not meet in time.
NcclId shared_id(const NcclId& mine, const LaunchPlace& place, const Rendezvous& rendezvous);

}  // namespace stepcast::probes
