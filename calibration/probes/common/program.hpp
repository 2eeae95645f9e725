#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "calibration/probes/common/arguments.hpp"
#include "calibration/probes/common/result_file.hpp"

namespace stepcast::probes {

/// Options that every probe has.
struct CommonOptions {
  std::string out = "-";
  std::string label, network;
};

/// Adds `--out`, `--label`, `--network`, `--help` and `--version`.
void add_common(Arguments& arguments, CommonOptions& options);

/// Writes the user's words into the file's environment.
void note_common(ResultFile& file, const CommonOptions& options);

/// Runs a probe's body and turns what it throws into one message on standard error and an exit code.
int guarded(const std::string& program, const std::function<void()>& body);

/// Answers `--help` and `--version`; true when the program is then done.
bool answered(const Arguments& arguments, const std::string& program, int argc, const char* const* argv);

/// The whole of a probe whose own options are added: adds those that every probe has, answers `--help` and
/// `--version`, parses, and measures once it is known that the result can be written. Returns the exit code.
int run_probe(const std::string& program, Arguments& arguments, CommonOptions& common, int argc,
              const char* const* argv, const std::function<void()>& measure);

/// Microseconds on a clock that never goes back.
inline double now_us() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace stepcast::probes
