#include "calibration/probes/common/program.hpp"

#include <iostream>
#include <sstream>

#include "calibration/probes/common/fault.hpp"

namespace stepcast::probes {

void add_common(Arguments& arguments, CommonOptions& options) {
  arguments.add("--out", "FILE", "result file (JSON); - is standard output, the default",
                [&](const std::string& value) { options.out = value; });
  arguments.add("--label", "WORDS", "kept in the file, to tell runs apart",
                [&](const std::string& value) { options.label = value; });
  arguments.add("--network", "WORDS", "what joins the hosts, as 8x 400G InfiniBand; kept in the file",
                [&](const std::string& value) { options.network = value; });
  arguments.add("--help", "", "this text", [](const std::string&) {});
  arguments.add("--version", "", "version of the probe", [](const std::string&) {});
}

void note_common(ResultFile& file, const CommonOptions& options) {
  if (!options.label.empty()) file.environment()["label"] = options.label;
  if (!options.network.empty()) file.environment()["network"] = options.network;
}

int guarded(const std::string& program, const std::function<void()>& body) {
  try {
    body();
    return static_cast<int>(Exit::done);
  } catch (const Fault& fault) {
    std::istringstream lines(fault.what());
    for (std::string line; std::getline(lines, line);) std::cerr << program << ": " << line << '\n';
    return static_cast<int>(fault.code());
  } catch (const std::exception& error) {
    std::cerr << program << ": internal error: " << error.what() << '\n';
    return static_cast<int>(Exit::internal);
  }
}

bool answered(const Arguments& arguments, const std::string& program, int argc, const char* const* argv) {
  if (Arguments::asks(argc, argv, "--help")) {
    std::cout << arguments.help();
    return true;
  }
  if (Arguments::asks(argc, argv, "--version")) {
    std::cout << program << ' ' << tool_version() << '\n';
    return true;
  }
  return false;
}

int run_probe(const std::string& program, Arguments& arguments, CommonOptions& common, int argc,
              const char* const* argv, const std::function<void()>& measure) {
  add_common(arguments, common);
  if (answered(arguments, program, argc, argv)) return 0;
  return guarded(program, [&] {
    arguments.parse(argc, argv);
    require_writable(common.out);
    measure();
  });
}

}  // namespace stepcast::probes
