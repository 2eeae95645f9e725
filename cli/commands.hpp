#pragma once

#include "cli/session.hpp"

namespace CLI {
class App;
}

namespace stepcast {

/// Each adds one subcommand, which runs when the command line names it.
void add_run(CLI::App& app, Session& session);
void add_scale(CLI::App& app, Session& session);
void add_scenario(CLI::App& app, Session& session);
void add_models(CLI::App& app, Session& session);
void add_frameworks(CLI::App& app, Session& session);
void add_validate(CLI::App& app, Session& session);
void add_collective(CLI::App& app, Session& session);
void add_import(CLI::App& app, Session& session);
void add_calibrate(CLI::App& app, Session& session);
void add_fabric(CLI::App& app, Session& session);
void add_share(CLI::App& app, Session& session);
void add_plan(CLI::App& app, Session& session);
void add_systems(CLI::App& app, Session& session);
void add_goodput(CLI::App& app, Session& session);
void add_study(CLI::App& app, Session& session);
void add_manual(CLI::App& app, Session& session);
void add_serve(CLI::App& app, Session& session);
void add_sweep(CLI::App& app, Session& session);
void add_check(CLI::App& app, Session& session);

}  // namespace stepcast
