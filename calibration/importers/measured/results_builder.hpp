#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "fields/json_text.hpp"

namespace stepcast {

/// What the user says beside files that do not tell it.
struct MeasuredHints {
  std::string op;                 ///< of a collective, as all_reduce; empty: the file or its name tells
  int ranks = 0;                  ///< 0: the file tells
  int per_node = 0;               ///< 0: the file tells, else all ranks on one node
  std::string device;             ///< of power readings that name none
  std::string state = "unknown";  ///< what ran while power was read
  std::string metric;             ///< of Prometheus' series that have lost their name
  std::string pattern;            ///< sequential or random, of storage jobs that do not state it
};

/// A document of docs/formats/probe-results.md, put together from one or several files of another tool.
class ResultsBuilder {
 public:
  explicit ResultsBuilder(std::string tool) : tool_(std::move(tool)) {}

  void add(Json row) { rows_.push_back(std::move(row)); }
  /// A row of a non-blocking collective. Those of a collective count where no other row is of it on as many ranks and
  /// nodes, in whichever file.
  void add_non_blocking(Json row) {
    row["note"] = "a non-blocking call and the wait for it, nothing beside it";
    non_blocking_.push_back(std::move(row));
  }
  /// A warning of the document; said once however often it is found.
  void warn(std::string text) {
    if (std::find(warnings_.begin(), warnings_.end(), text) == warnings_.end()) warnings_.push_back(std::move(text));
  }
  /// A piece of software that measured, and its version as it prints it.
  void version(const std::string& software, const std::string& text) { versions_[software] = text; }
  void host(const std::string& name) {
    if (std::find(hosts_.begin(), hosts_.end(), name) == hosts_.end()) hosts_.push_back(name);
  }
  void accelerator(const std::string& name) { accelerator_ = name; }
  /// A variable of the environment in which was measured.
  void variable(const std::string& name, const std::string& value) { variables_[name] = value; }
  /// Start of a measurement in seconds since 1970; the earliest counts.
  void date(double seconds);
  [[nodiscard]] bool empty() const { return rows() == 0; }
  /// Of both kinds.
  [[nodiscard]] std::size_t rows() const { return rows_.size() + non_blocking_.size(); }

  /// The document; a missing date is 1970's, with a warning.
  [[nodiscard]] Json document(const std::vector<std::string>& files) const;

 private:
  std::string tool_, date_, accelerator_;
  std::vector<std::string> hosts_, warnings_;
  std::map<std::string, std::string> versions_, variables_;
  Json rows_ = Json::array(), non_blocking_ = Json::array();
};

/// Text of one file into rows. What cannot be read is one fault, with its line; files of another kind say so.
using MeasuredReader = void (*)(std::string_view text, const std::string& file, const MeasuredHints& hints,
                                ResultsBuilder& results, Diagnostics& diagnostics);

/// nccl-tests and rccl-tests: the table that they print, or the JSON of their `-J`. Wrong data is a fault, not a row.
void read_nccl_tests(std::string_view, const std::string&, const MeasuredHints&, ResultsBuilder&, Diagnostics&);
/// OSU micro-benchmarks: latencies of collectives and of messages, non-blocking ones where no blocking ones are. Tests
/// of rates, pairs and one-sided calls are left out with a warning; of them alone, a fault.
void read_osu(std::string_view, const std::string&, const MeasuredHints&, ResultsBuilder&, Diagnostics&);
/// Intel MPI Benchmarks: single calls of IMB-MPI1, of IMB-NBC where no blocking ones are. The file tells the ranks, and
/// the user those of a node.
void read_imb(std::string_view, const std::string&, const MeasuredHints&, ResultsBuilder&, Diagnostics&);
/// ucc_perftest of UCC: its collectives, by the mean over the ranks.
void read_ucc(std::string_view, const std::string&, const MeasuredHints&, ResultsBuilder&, Diagnostics&);
/// fio --output-format=json (or json+).
void read_fio(std::string_view, const std::string&, const MeasuredHints&, ResultsBuilder&, Diagnostics&);
/// nvidia-smi --query-gpu=… --format=csv.
void read_nvidia_smi(std::string_view, const std::string&, const MeasuredHints&, ResultsBuilder&, Diagnostics&);
/// dcgmi dmon, or CSV with DCGM's field names as columns.
void read_dcgm(std::string_view, const std::string&, const MeasuredHints&, ResultsBuilder&, Diagnostics&);
/// A Prometheus range query of the DCGM exporter (`/api/v1/query_range`).
void read_prometheus(std::string_view, const std::string&, const MeasuredHints&, ResultsBuilder&, Diagnostics&);
/// ipmitool dcmi power reading, repeated, or CSV of IPMI or Redfish with a column of watts.
void read_ipmi(std::string_view, const std::string&, const MeasuredHints&, ResultsBuilder&, Diagnostics&);

}  // namespace stepcast
