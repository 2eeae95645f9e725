#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "calibration/validation/measured_run.hpp"

namespace stepcast {

/// Runs that no fit may read, whatever else it reads: they show what the model says of what it never saw.
///
/// A rule is a line of `calibration/never-fit.txt`: `source TEXT` and `model TEXT` hold where the row's column contains
/// the text, in whichever case; `gpus >= N` holds from N GPUs on. Blank lines and lines that begin with # are comments.
class NeverFit {
 public:
  /// Throws InputError with every line that is no rule.
  static NeverFit parse(std::string_view text, const std::string& file);
  /// The shipped rules.
  static const NeverFit& shipped();

  [[nodiscard]] bool holds(std::string_view source, std::string_view model, long gpus) const;
  [[nodiscard]] bool holds(const MeasuredRun& run) const { return holds(run.source, run.model, run.gpus); }

 private:
  struct Words {
    bool of_source = false;
    std::string text;  ///< in lower case
  };
  std::vector<Words> words_;
  long smallest_forbidden_gpus_ = 0;  ///< 0: no such rule
};

/// The rows of a table that a fit may read: the only way in which fits of training runs read them.
RunSet runs_to_fit(const std::filesystem::path& file, std::string name);
/// The others: how far off predictions of these are says how far to trust one.
RunSet runs_never_fit(const std::filesystem::path& file, std::string name);

}  // namespace stepcast
