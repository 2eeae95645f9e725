#include "calibration/probes/common/result_file.hpp"

#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "calibration/probes/common/fault.hpp"
#include "calibration/probes/common/host_facts.hpp"

namespace stepcast::probes {
namespace {

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

/// The document with one row a line: a file of thousands of rows stays readable and can be compared.
std::string text_of(const Json& document) {
  Json head = document;
  head.erase("results");
  std::string text = head.dump(2);
  text.erase(text.size() - 2);  // the closing brace and the line before it
  text += ",\n  \"results\": [";
  const char* separator = "\n    ";
  for (const Json& row : document["results"]) {
    text += separator + row.dump();
    separator = ",\n    ";
  }
  return text + (document["results"].empty() ? "]\n}\n" : "\n  ]\n}\n");
}

}  // namespace

std::string tool_version() { return STEPCAST_PROBES_VERSION; }

ResultFile::ResultFile(std::string probe, int argc, const char* const* argv) {
  const HostFacts facts = host_facts();
  document_ = {{"format_version", 1}, {"probe", std::move(probe)}, {"tool_version", tool_version()},
               {"host", facts.name},  {"date", utc_now()},         {"command", Json::array()}};
  for (int i = 0; i < argc; ++i) document_["command"].push_back(argv[i]);
  document_["versions"] = {{"kernel", facts.kernel}, {"os", facts.os}};
  document_["clocks"] = Json::object();
  if (facts.cpu_MHz > 0) document_["clocks"]["cpu_MHz"] = facts.cpu_MHz;
  Json& environment = document_["environment"] = {{"hosts", {facts.name}}, {"cpu", facts.cpu}};
  if (facts.cores > 0) environment["cpu_cores"] = facts.cores;
  if (facts.memory_bytes > 0) environment["memory_bytes"] = facts.memory_bytes;
  environment["launcher"] = facts.launcher;
  if (!facts.job.empty()) environment["job"] = facts.job;
  environment["variables"] = facts.variables;
  document_["warnings"] = Json::array();
  document_["results"] = Json::array();
}

void ResultFile::warn(const std::string& what) {
  for (const Json& said : document_["warnings"])
    if (said == what) return;
  document_["warnings"].push_back(what);
  std::cerr << "warning: " << what << '\n';
}

void ResultFile::write(const std::string& path) const {
  const std::string text = text_of(document_);
  if (path == "-") {
    std::cout << text << std::flush;
    return;
  }
  const std::string unfinished = path + ".partial-" + std::to_string(getpid());
  {
    std::ofstream out(unfinished, std::ios::binary);
    out << text << std::flush;
    if (!out) {
      std::remove(unfinished.c_str());
      throw bad_input(path + ": cannot be written");
    }
  }
  if (std::rename(unfinished.c_str(), path.c_str()) != 0) {
    std::remove(unfinished.c_str());
    throw bad_input(path + ": cannot be written");
  }
}

void require_writable(const std::string& path) {
  if (path == "-") return;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (std::filesystem::is_directory(path)) throw bad_input("--out: " + path + " is a directory; expected a file");
  if (access(folder.empty() ? "." : folder.c_str(), W_OK) != 0)
    throw bad_input("--out: " + path + " cannot be written: no such directory, or no permission");
}

Json samples_json(const std::vector<double>& samples_us) {
  Json out = Json::array();
  for (const double sample : samples_us) out.push_back(std::round(sample * 1e3) / 1e3);
  return out;
}

}  // namespace stepcast::probes
