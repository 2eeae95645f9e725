#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/session.hpp"

namespace CLI {
class App;
}

namespace stepcast {

/// Puts calibrations before the catalogue of a session: what they hold goes before entries of `--catalog` directories
/// and shipped ones, in workers too, which get the session's list. The first one goes first. Checks each file whole and
/// writes warnings (age, versions, what is hidden) to standard error. To be called before the session's catalogue is
/// asked for. Throws InputError.
void use_calibrations(Session& session, const std::vector<std::filesystem::path>& files);

/// Reads the calibrations that an anchored scenario names whole, throws InputError with every fault of them, and writes
/// warnings as above.
void check_named_calibrations(const Json& document);

/// Today, YYYY-MM-DD, UTC.
std::string current_date();

/// Adds `--calibration FILE` (repeatable) to a command: the files are in use by the time that its callback runs.
void add_calibration_option(CLI::App& command, Session& session);

}  // namespace stepcast
