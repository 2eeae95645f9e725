#include "sweeps/slurm/row_file.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "sim/protocol/environment_error.hpp"

namespace stepcast {

namespace {

Json json_of(const SweepRow& row) {
  Json figures = Json::array();
  for (const double figure : row.figures) figures.push_back(std::isnan(figure) ? Json(nullptr) : Json(figure));
  return {{"point", row.point},
          {"status", name_of(row.status)},
          {"error", row.error},
          {"figures", std::move(figures)},
          {"words", row.words}};
}

SweepRow row_from(const Json& document) {
  SweepRow out;
  out.point = document.at("point").get<std::int64_t>();
  const auto status = parse_enum<PointStatus>(document.at("status").get<std::string>());
  if (!status) throw std::runtime_error("unknown status");
  out.status = *status;
  out.error = document.at("error").get<std::string>();
  for (const Json& figure : document.at("figures"))
    out.figures.push_back(figure.is_null() ? std::numeric_limits<double>::quiet_NaN() : figure.get<double>());
  if (out.status == PointStatus::ok && out.figures.size() != figure_columns().size())
    throw std::runtime_error("another number of figures");
  out.words = document.at("words").get<decltype(out.words)>();
  return out;
}

/// Length of the whole lines of a file.
std::uintmax_t whole_lines(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::string line;
  std::uintmax_t out = 0;
  while (std::getline(in, line) && !in.eof()) out += line.size() + 1;
  return out;
}

}  // namespace

RowWriter::RowWriter(const std::filesystem::path& file) : file_(file) {
  std::error_code error;
  if (std::filesystem::exists(file, error)) std::filesystem::resize_file(file, whole_lines(file), error);
  out_.open(file, std::ios::binary | std::ios::app);
  if (!out_ || error) throw EnvironmentError(fmt::format("{}: cannot be written", file.string()));
}

void RowWriter::add(const std::vector<SweepRow>& rows) {
  std::string text;
  for (const SweepRow& row : rows) text += json_of(row).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  out_ << text << std::flush;
  if (!out_) throw EnvironmentError(fmt::format("{}: cannot be written; is the disk full?", file_.string()));
}

void read_rows(const std::filesystem::path& file, std::uintmax_t& offset, const std::function<void(SweepRow)>& take) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return;
  in.seekg(static_cast<std::streamoff>(offset));
  std::string line;
  while (std::getline(in, line) && !in.eof()) {
    try {
      take(row_from(Json::parse(line)));
    } catch (const EnvironmentError&) {
      throw;
    } catch (const Json::exception&) {
      throw EnvironmentError(fmt::format("{}: a line is no row of a sweep", file.string()));
    } catch (const std::runtime_error& error) {
      throw EnvironmentError(fmt::format("{}: a line is no row of a sweep: {}", file.string(), error.what()));
    }
    offset += line.size() + 1;
  }
}

}  // namespace stepcast
