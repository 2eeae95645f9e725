#include "calibration/fit/cluster/product_rows.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "calibration/fit/cluster/cluster_rows.hpp"

namespace stepcast {

namespace {

/// Our names of the formats that probes multiply in.
Precision precision_of(const std::string& name) {
  if (name.starts_with("fp8")) return Precision::fp8;
  return parse_enum<Precision>(name).value_or(Precision::bf16);
}

double input_bytes(Precision precision) {
  if (precision == Precision::fp8 || precision == Precision::int8) return 1;
  if (precision == Precision::fp32 || precision == Precision::tf32) return 4;
  return precision == Precision::fp64 ? 8 : 2;
}

ProductRow row_of(const Json& row) {
  ProductRow out;
  out.precision = precision_of(row["precision"].get<std::string>());
  out.shape.m = row["m"].get<double>();
  out.shape.n = row["n"].get<double>();
  out.shape.k = row["k"].get<double>();
  out.shape.batch = row.value("batch", 1.0);
  out.shape.input_bytes = input_bytes(out.precision);
  out.shape.output_bytes = std::max(2.0, out.shape.input_bytes);
  out.samples_us = row["samples_us"].get<RowSamples>();
  out.measured_us = quantile_of(out.samples_us, 0.5);
  out.sustained = out.measured_us * row.value("calls_per_sample", 1.0) >= kSettled_us;
  return out;
}

}  // namespace

std::vector<ProductRow> product_rows(const std::vector<ProbeResults>& files) {
  std::vector<ProductRow> out;
  for (const ProbeResults& file : files)
    for (const Json& row : file.rows())
      if (row["kind"] == "gemm") {
        out.push_back(row_of(row));
        out.back().place = place_of(file, row);
      }
  return out;
}

std::string place_of(const ProbeResults& file, const Json& row) {
  return row.contains("device") ? fmt::format("{}, {}", file.file, row["device"].get<std::string>()) : file.file;
}

}  // namespace stepcast
