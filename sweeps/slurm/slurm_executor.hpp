#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "sweeps/run_sweep.hpp"

namespace stepcast {

/// How a job array is asked for; empty and zero: the cluster's defaults.
struct SlurmOptions {
  std::string partition, time_limit, account, qos, memory;
  int tasks = 100;                ///< of the array, at most; no more than the cluster's MaxArraySize
  int at_a_time = 0;              ///< tasks that run at once, at most
  int cpus_per_task = 1;          ///< and evaluations at a time within a task
  std::vector<std::string> more;  ///< further arguments of sbatch, one each, as they are
};

/// Evaluates points as tasks of a Slurm job array, and gathers their rows from the task folder beside the store, which
/// lies on a filesystem that the nodes share. An array of this sweep that an earlier run submitted is gathered, and
/// waited for if it still runs, before anything is submitted. A stop cancels the array.
///
/// The executor throws EnvironmentError when Slurm's commands are missing or refuse, and when the array has ended
/// without all of its rows (a task was killed): what there is, is in the store, and a resumed sweep submits the rest.
Executor slurm_executor(const std::filesystem::path& store, const SlurmOptions& options);

}  // namespace stepcast
