#include "report/csv.hpp"

#include <algorithm>

#include "report/json.hpp"

namespace stepcast {

namespace {

struct Column {
  std::string pointer;          ///< into the JSON report
  bool zero_if_absent = false;  ///< a kind of communication that does not occur
};

std::vector<Column> columns() {
  std::vector<Column> out;
  for (const char* pointer : {"/scenario",
                              "/nodes",
                              "/devices",
                              "/parallelism/tensor",
                              "/parallelism/pipeline",
                              "/parallelism/virtual_pipeline",
                              "/parallelism/context",
                              "/parallelism/expert",
                              "/parallelism/data",
                              "/parallelism/micro_batch",
                              "/parallelism/micro_batches",
                              "/step_time_s",
                              "/samples_per_s",
                              "/tokens_per_s",
                              "/samples_per_s_per_gpu",
                              "/tokens_per_s_per_gpu",
                              "/model_tflops_per_gpu",
                              "/hardware_tflops_per_gpu",
                              "/mfu",
                              "/hfu",
                              "/compute_s",
                              "/communication/total_s",
                              "/communication/exposed_s",
                              "/bubble_s",
                              "/synchronization_wait_s",
                              "/optimizer_s",
                              "/overhead_s",
                              "/host_s",
                              "/gpu_utilization",
                              "/memory/fits",
                              "/memory/peak_GiB",
                              "/memory/capacity_GiB",
                              "/power/average_W",
                              "/power/peak_W",
                              "/energy/per_step_J",
                              "/energy/per_sample_J",
                              "/cost/per_hour_usd",
                              "/cost/run_usd",
                              "/time_to_train_s"})
    out.push_back({pointer});
  std::vector<std::string> kinds = names_of<CollectiveKind>();
  kinds.emplace_back("storage");
  for (const std::string& kind : kinds)
    for (const char* part : {"total_s", "exposed_s"})
      out.push_back({fmt::format("/communication/by_kind/{}/{}", kind, part), true});
  for (const std::string& dimension : names_of<Dimension>())
    for (const char* part : {"total_s", "exposed_s"})
      out.push_back({fmt::format("/communication/by_dimension/{}/{}", dimension, part), true});
  for (const char* pointer : {"/fidelity", "/version", "/catalog_hash"}) out.push_back({pointer});
  return out;
}

std::string cell(const Json& report, const Column& column) {
  const Json::json_pointer pointer(column.pointer);
  if (column.zero_if_absent && !report.contains(pointer)) return "0";
  const Json& value = report.at(pointer);
  if (value.is_null()) return {};
  return value.is_string() ? value.get<std::string>() : value.dump();
}

}  // namespace

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    out += c;
    if (c == '"') out += c;
  }
  return out + '"';
}

std::string csv_line(const std::vector<std::string>& fields) {
  std::string out;
  for (std::size_t i = 0; i < fields.size(); ++i) out += (i ? "," : "") + csv_field(fields[i]);
  return out + "\n";
}

std::string csv_header() {
  std::vector<std::string> names;
  for (const Column& column : columns()) {
    std::string name = column.pointer.substr(1);
    std::replace(name.begin(), name.end(), '/', '.');
    names.push_back(std::move(name));
  }
  return csv_line(names);
}

std::string csv_row(const Prediction& prediction) {
  const Json report = to_json(prediction);
  std::vector<std::string> cells;
  for (const Column& column : columns()) cells.push_back(cell(report, column));
  return csv_line(cells);
}

}  // namespace stepcast
