#pragma once

#include <optional>
#include <string>

#include "models/scenario/scenario.hpp"

namespace stepcast {

/// The training program and what its settings leave to it, as start scripts need them.
struct StartedProgram {
  std::string script;     ///< the training script's usual name
  std::string arguments;  ///< what follows it on a command line
  std::string before;     ///< lines of the script that prepare them; each ends with a line break
  std::string beyond;     ///< what the settings have no words for, in comments; the same
};

/// A script that starts the training by the framework's own means: torchrun on each server, one JAX process on each, or
/// horovodrun on the first. Power caps and locked clocks of the scenario are set before. None where the framework
/// starts its processes by programs of its own.
std::optional<std::string> launch_script(const Scenario& scenario, const StartedProgram& program);

/// A Slurm job that runs the script on all servers.
std::string slurm_job(const Scenario& scenario);

}  // namespace stepcast
