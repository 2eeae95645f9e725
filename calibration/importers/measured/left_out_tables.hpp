#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "calibration/importers/measured/results_builder.hpp"

namespace stepcast {

/// Tables of a benchmark's file that hold no times of single calls, and why. Beside others they are a warning each;
/// where a file has no others they are its fault.
class LeftOutTables {
 public:
  /// `words`: "Gather of 8 processes holds …"; `at`: its line.
  void add(std::string words, const std::string& at) {
    if (words_.empty()) first_at_ = at;
    if (std::find(words_.begin(), words_.end(), words) == words_.end()) words_.push_back(std::move(words));
  }

  /// `rows`: that other tables gave. `benchmark`: "the Intel MPI Benchmarks"; `taken`: what is taken of it.
  void report(std::size_t rows, const std::string& benchmark, const std::string& taken, ResultsBuilder& results,
              Diagnostics& diagnostics) const {
    if (rows > 0)
      for (const std::string& words : words_) results.warn(words + ": left out");
    else if (words_.empty())
      diagnostics.error("", "no table of " + benchmark + " in it");
    else
      diagnostics.error(first_at_, words_.front(), taken);
  }

 private:
  std::vector<std::string> words_;
  std::string first_at_;
};

}  // namespace stepcast
