#pragma once

#include <filesystem>
#include <functional>
#include <string_view>
#include <vector>

#include "calibration/importers/imported.hpp"
#include "cli/session.hpp"

namespace CLI {
class App;
}

namespace stepcast {

/// What the user asked of an import.
struct ImportRequest {
  std::vector<std::filesystem::path> files;  ///< one at least, and no more than the kind takes
  std::filesystem::path out;                 ///< `-o`; empty: standard output
};

/// Reads the files of a request. Throws InputError with every fault of them.
using ImportAction = std::function<Imported(Session&, const ImportRequest&)>;

/// One format that `stepcast import` reads.
struct ImportKind {
  std::string_view name;
  std::string_view help;
  std::string_view files;  ///< what the positional arguments are
  int most_files;
  /// Adds the kind's own options to its subcommand; what it returns runs once they are parsed.
  ImportAction (*prepare)(CLI::App&);
};

/// In the order of the help. To add a kind: a file cli/import_<kind>.cpp with its prepare function, and a row in
/// import_command.cpp.
const std::vector<ImportKind>& import_kinds();

ImportAction prepare_nccl_topology(CLI::App& app);
ImportAction prepare_nvidia_smi_topo(CLI::App& app);
ImportAction prepare_slurm_topology(CLI::App& app);
ImportAction prepare_astra_sim(CLI::App& app);
ImportAction prepare_chakra(CLI::App& app);
ImportAction prepare_nccl_tests(CLI::App& app);
ImportAction prepare_osu(CLI::App& app);
ImportAction prepare_imb(CLI::App& app);
ImportAction prepare_ucc(CLI::App& app);
ImportAction prepare_fio(CLI::App& app);
ImportAction prepare_nvidia_smi(CLI::App& app);
ImportAction prepare_dcgm(CLI::App& app);
ImportAction prepare_prometheus(CLI::App& app);
ImportAction prepare_ipmi(CLI::App& app);

}  // namespace stepcast
