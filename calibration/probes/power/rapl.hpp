#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace stepcast::probes {

/// An energy counter of Linux's powercap tree (Documentation/power/powercap/powercap.rst), as of Intel's RAPL.
class RaplDomain {
 public:
  RaplDomain(std::filesystem::path folder, std::string name, double range_J);
  /// Energy since the last call, in J; the counter wraps at its range. Absent where it cannot be read (any more).
  std::optional<double> energy_J();
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  std::filesystem::path folder_;
  std::string name_;
  double range_J_;
  std::optional<double> last_J_;
};

/// The domains below a powercap folder that can be read; `unreadable` says which cannot, and why.
std::vector<RaplDomain> rapl_domains(const std::filesystem::path& powercap, std::vector<std::string>& unreadable);

}  // namespace stepcast::probes
