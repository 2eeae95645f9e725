#include "calibration/validation/never_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "calibration/importers/text_file.hpp"
#include "calibration/validation/column_sets.hpp"
#include "fields/data_directory.hpp"
#include "fields/diagnostics.hpp"
#include "fields/plain_text.hpp"

namespace stepcast {

namespace {

/// What stands behind a word at the start of a line; empty where the line begins otherwise.
std::string_view behind(std::string_view line, std::string_view word) {
  if (line.substr(0, word.size()) != word || line.size() == word.size()) return {};
  const std::string_view rest = line.substr(word.size());
  return rest.front() == ' ' ? trimmed(rest) : std::string_view{};
}

}  // namespace

NeverFit NeverFit::parse(std::string_view text, const std::string& file) {
  NeverFit out;
  std::vector<Fault> faults;
  int number = 0;
  for (const std::string_view whole_line : lines_of(text)) {
    ++number;
    const std::string_view line = trimmed(whole_line);
    if (line.empty() || line.front() == '#') continue;
    long gpus = 0;
    const std::string_view bound = behind(line, "gpus >=");
    if (const std::string_view source = behind(line, "source"); !source.empty()) {
      out.words_.push_back({true, lower_case(source)});
    } else if (const std::string_view model = behind(line, "model"); !model.empty()) {
      out.words_.push_back({false, lower_case(model)});
    } else if (const auto read = std::from_chars(bound.data(), bound.data() + bound.size(), gpus);
               !bound.empty() && read.ec == std::errc() && read.ptr == bound.data() + bound.size() && gpus > 0) {
      out.smallest_forbidden_gpus_ =
          out.smallest_forbidden_gpus_ == 0 ? gpus : std::min(out.smallest_forbidden_gpus_, gpus);
    } else {
      faults.push_back({fmt::format("{}:{}", file, number), "", fmt::format("found \"{}\"", line),
                        "expected \"source TEXT\", \"model TEXT\" or \"gpus >= N\""});
    }
  }
  if (!faults.empty()) throw InputError(std::move(faults));
  return out;
}

const NeverFit& NeverFit::shipped() {
  static const NeverFit kRules = [] {
    const std::filesystem::path file = data_directory("calibration") / "never-fit.txt";
    Diagnostics diagnostics(file.string());
    const std::string text = read_description(file, diagnostics);
    diagnostics.throw_if_faulty();
    return parse(text, file.string());
  }();
  return kRules;
}

bool NeverFit::holds(std::string_view source, std::string_view model, long gpus) const {
  if (smallest_forbidden_gpus_ > 0 && gpus >= smallest_forbidden_gpus_) return true;
  return std::any_of(words_.begin(), words_.end(), [&](const Words& words) {
    return lower_case(words.of_source ? source : model).find(words.text) != std::string::npos;
  });
}

RunSet runs_to_fit(const std::filesystem::path& file, std::string name) {
  RunSet out = read_runs(read_csv(file), std::move(name));
  std::erase_if(out.runs, [](const MeasuredRun& run) { return NeverFit::shipped().holds(run); });
  return out;
}

RunSet runs_never_fit(const std::filesystem::path& file, std::string name) {
  RunSet out = read_runs(read_csv(file), std::move(name));
  std::erase_if(out.runs, [](const MeasuredRun& run) { return !NeverFit::shipped().holds(run); });
  return out;
}

}  // namespace stepcast
