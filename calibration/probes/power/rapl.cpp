#include "calibration/probes/power/rapl.hpp"

#include <algorithm>
#include <fstream>

namespace stepcast::probes {
namespace {

std::optional<std::string> line_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string line;
  if (!std::getline(in, line)) return std::nullopt;
  return line;
}

std::optional<double> joules_of(const std::filesystem::path& file) {
  const auto line = line_of(file);
  if (!line) return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(line->c_str(), &end);
  if (end == line->c_str()) return std::nullopt;
  return value / 1e6;
}

}  // namespace

RaplDomain::RaplDomain(std::filesystem::path folder, std::string name, double range_J)
    : folder_(std::move(folder)),
      name_(std::move(name)),
      range_J_(range_J),
      last_J_(joules_of(folder_ / "energy_uj")) {}

std::optional<double> RaplDomain::energy_J() {
  const auto now = joules_of(folder_ / "energy_uj");
  if (!now || !last_J_) return std::nullopt;
  const double delta = *now - *last_J_;
  last_J_ = now;
  return delta < 0 ? delta + range_J_ : delta;
}

std::vector<RaplDomain> rapl_domains(const std::filesystem::path& powercap, std::vector<std::string>& unreadable) {
  std::vector<RaplDomain> out;
  std::error_code absent;
  std::vector<std::filesystem::path> folders;
  for (const auto& entry : std::filesystem::directory_iterator(powercap, absent))
    if (entry.path().filename().string().find("rapl:") != std::string::npos) folders.push_back(entry.path());
  if (folders.empty())
    unreadable.push_back("RAPL: " + powercap.string() + " has no energy counters (a virtual machine, or no driver)");
  std::sort(folders.begin(), folders.end());
  for (const auto& folder : folders) {
    const std::string part = line_of(folder / "name").value_or("unknown");
    // A part of a package (intel-rapl:0:1) is named after both: every package has a "dram".
    const std::string id = folder.filename().string();
    const std::size_t first = id.find(':'), second = id.find(':', first + 1);
    const std::string name =
        second == std::string::npos ? part : "package-" + id.substr(first + 1, second - first - 1) + "/" + part;
    const auto range = joules_of(folder / "max_energy_range_uj");
    if (joules_of(folder / "energy_uj"))
      out.emplace_back(folder, name, range.value_or(0));
    else
      unreadable.push_back("RAPL: " + name + ": " + (folder / "energy_uj").string() + " is not readable by this user");
  }
  return out;
}

}  // namespace stepcast::probes
