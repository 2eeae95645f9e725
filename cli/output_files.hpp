#pragma once

#include <string>
#include <vector>

#include "cli/session.hpp"

namespace stepcast {

/// A file that an option names for output; empty where the option was not given.
struct OutputFile {
  std::string option, file;
};

/// Before anything is computed: that every file can be written, and that no two are one. Throws InputError with all
/// that cannot. Devices and pipes may be named more than once.
void check_output_files(const std::vector<OutputFile>& outputs);

/// That no file named for output is one that is read, which would be lost: one of `inputs`, or a calibration of the
/// session. Throws InputError with all that are.
void keep_inputs(const std::vector<OutputFile>& outputs, std::vector<std::string> inputs, const Session& session);

}  // namespace stepcast
