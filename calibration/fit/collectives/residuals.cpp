#include "calibration/fit/collectives/residuals.hpp"

#include <fmt/format.h>

#include <fstream>

#include "fields/diagnostics.hpp"

namespace stepcast::fit {

namespace {

std::string time_text(const std::vector<double>& times, std::size_t i) {
  return i < times.size() && times[i] > 0 ? fmt::format("{:.6g}", times[i]) : "";
}

}  // namespace

void write_residuals(const std::filesystem::path& file, const std::vector<Point>& points,
                     const std::vector<double>& in_sample, const std::vector<double>& left_out) {
  std::ofstream out(file);
  if (!out) throw InputError({{file.string(), "", "cannot be written", ""}});
  out << "where,system,ranks,nodes,operation,size_bytes,measured_us,in_sample_us,left_out_us,call\n";
  for (std::size_t i = 0; i < points.size(); ++i) {
    const MeasuredCollective& row = points[i].row;
    out << fmt::format("\"{}\",\"{}\",{},{},{},{:.0f},{:.6g},{},{},\"{}\"\n", name_of(row.where), row.system,
                       row.group.size, row.group.nodes(), name_of(row.kind), row.size.value(), row.time_us,
                       time_text(in_sample, i), time_text(left_out, i), row.call);
  }
}

}  // namespace stepcast::fit
