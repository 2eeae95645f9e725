#include "cli/calibration_option.hpp"

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>

#include "calibration/profile/calibration_profile.hpp"

namespace stepcast {

std::string current_date() {
  const std::chrono::year_month_day date(std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now()));
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                     static_cast<unsigned>(date.day()));
}

namespace {

std::vector<CalibrationProfile> read_all(const std::vector<std::filesystem::path>& files) {
  std::vector<CalibrationProfile> profiles;
  std::vector<Fault> faults;
  for (const std::filesystem::path& file : files) {
    try {
      profiles.push_back(read_calibration(file));
    } catch (const InputError& error) {
      faults.insert(faults.end(), error.faults().begin(), error.faults().end());
    }
  }
  if (!faults.empty()) throw InputError(std::move(faults));
  return profiles;
}

void warn_of(const std::vector<CalibrationProfile>& profiles) {
  for (const std::string& warning : warnings_of(profiles, current_date()))
    std::fputs(("warning: " + warning + "\n").c_str(), stderr);
}

}  // namespace

void check_named_calibrations(const Json& document) {
  const Json::json_pointer named("/cluster/calibrations");
  if (!document.is_object() || !document.contains(named) || !document[named].is_array()) return;
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (const Json& name : document[named])
    // What is no file is a fault of the scenario, and told with its place.
    if (name.is_string() && std::filesystem::is_regular_file(name.get<std::string>(), error))
      files.emplace_back(name.get<std::string>());
  warn_of(read_all(files));
}

void use_calibrations(Session& session, const std::vector<std::filesystem::path>& files) {
  warn_of(read_all(files));
  // Workers and array tasks run elsewhere.
  std::vector<std::filesystem::path> absolute;
  absolute.reserve(files.size());
  for (const std::filesystem::path& file : files) absolute.push_back(std::filesystem::absolute(file));
  session.catalog_directories.insert(session.catalog_directories.begin(), absolute.begin(), absolute.end());
}

void add_calibration_option(CLI::App& command, Session& session) {
  command
      .add_option_function<std::vector<std::string>>(
          "--calibration",
          [&session](const std::vector<std::string>& files) {
            use_calibrations(session, {files.begin(), files.end()});
          },
          "Measured on a cluster: stepcast calibrate fit (repeatable; the first goes first)")
      ->type_name("FILE")
      ->allow_extra_args(false);
}

}  // namespace stepcast
