#include "calibration/validation/csv_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>

#include "fields/plain_text.hpp"
#include "fields/utf8.hpp"

namespace stepcast {

namespace {

Fault fault_at(const std::string& file, int line, int column, std::string message, std::string suggestion = {}) {
  return {fmt::format("{}:{}:{}", file, line, column), "", std::move(message), std::move(suggestion)};
}

/// Walks over the text once, with the place kept beside.
std::string without_blanks_around(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

class Reader {
 public:
  Reader(std::string_view text, CsvTable& table, std::vector<Fault>& faults)
      : text_(text), table_(table), faults_(faults) {
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (text_.substr(0, kByteOrderMark.size()) == kByteOrderMark) text_.remove_prefix(kByteOrderMark.size());
  }

  void read() {
    while (!at_end()) {
      std::vector<CsvField> fields = record();
      if (fields.size() == 1 && fields.front().text.find_first_not_of(" \t") == std::string::npos) continue;
      if (table_.header.empty()) {
        table_.header = std::move(fields);
      } else {
        add(std::move(fields));
      }
    }
  }

 private:
  [[nodiscard]] bool at_end() const { return at_ >= text_.size(); }
  [[nodiscard]] char peek() const { return text_[at_]; }
  [[nodiscard]] bool at_line_end() const {
    return peek() == '\n' || (peek() == '\r' && at_ + 1 < text_.size() && text_[at_ + 1] == '\n');
  }

  char next() {
    const char c = text_[at_++];
    ++column_;
    if (c == '\n') {
      ++line_;
      column_ = 1;
    }
    return c;
  }

  std::vector<CsvField> record() {
    std::vector<CsvField> out;
    out.push_back(field());
    while (!at_end() && peek() == ',') {
      next();
      out.push_back(field());
    }
    while (!at_end() && at_line_end() && next() != '\n') {
    }
    return out;
  }

  CsvField field() {
    CsvField out{{}, line_, column_};
    if (!at_end() && peek() == '"') {
      quoted(out);
    } else {
      plain(out);
    }
    return out;
  }

  void plain(CsvField& out) {
    while (!at_end() && peek() != ',' && !at_line_end()) {
      if (peek() == '"' && out.text.find('"') == std::string::npos)
        faults_.push_back(fault_at(table_.file, line_, column_, "found a quote inside a field that is not quoted",
                                   "quote the whole field and double the quotes in it"));
      out.text += next();
    }
    out.text = without_blanks_around(out.text);
  }

  void quoted(CsvField& out) {
    next();
    while (true) {
      if (at_end()) {
        faults_.push_back(fault_at(table_.file, out.line, out.column, "found a quoted field that does not end"));
        return;
      }
      const char c = next();
      if (c != '"') {
        out.text += c;
      } else if (!at_end() && peek() == '"') {
        out.text += next();
      } else {
        break;
      }
    }
    if (at_end() || peek() == ',' || at_line_end()) return;
    faults_.push_back(
        fault_at(table_.file, line_, column_, "found text behind a closing quote, expected a comma or a new line"));
    while (!at_end() && peek() != ',' && !at_line_end()) next();
  }

  void add(std::vector<CsvField> fields) {
    if (fields.size() == table_.header.size()) {
      table_.rows.push_back(std::move(fields));
      return;
    }
    const CsvField& odd = fields.size() > table_.header.size() ? fields[table_.header.size()] : fields.back();
    faults_.push_back(
        fault_at(table_.file, odd.line, odd.column,
                 fmt::format("found {} fields, expected {} as the header has", fields.size(), table_.header.size())));
  }

  std::string_view text_;
  CsvTable& table_;
  std::vector<Fault>& faults_;
  std::size_t at_ = 0;
  int line_ = 1, column_ = 1;
};

/// Names and notes go into reports, which are UTF-8.
void check_text(const CsvTable& table, std::vector<Fault>& faults) {
  const auto check = [&](const std::vector<CsvField>& fields) {
    for (const CsvField& field : fields)
      if (!is_utf8(field.text))
        faults.push_back(
            fault_at(table.file, field.line, field.column, "found bytes that are no UTF-8", "save the file as UTF-8"));
  };
  check(table.header);
  for (const std::vector<CsvField>& row : table.rows) check(row);
}

void check_header(const CsvTable& table, std::vector<Fault>& faults) {
  if (table.header.empty()) faults.push_back(fault_at(table.file, 1, 1, "found no header, expected names of columns"));
  for (std::size_t i = 0; i < table.header.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (table.header[i].text == table.header[j].text)
        faults.push_back(fault_at(table.file, table.header[i].line, table.header[i].column,
                                  fmt::format("column \"{}\" is there twice", table.header[i].text)));
}

/// A header that is one field is no table of one column where what other programs separate with stands in it.
void refuse_other_separators(const CsvTable& table) {
  if (table.header.size() != 1) return;
  const CsvField& field = table.header.front();
  for (const auto& [separator, words] : {std::pair{';', "semicolons"}, std::pair{'\t', "tabs"}})
    if (field.text.find(separator) != std::string::npos)
      throw InputError({fault_at(table.file, field.line, field.column,
                                 fmt::format("found columns separated by {}, expected commas", words),
                                 "save the table with commas between fields and points in numbers")});
}

/// The number that a whole text is, in every locale; null when it is none.
std::optional<double> parse_number(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

/// What tables write where a figure is not known, in lower case.
constexpr std::array<std::string_view, 6> kNotKnown{"-", "n/a", "na", "nan", "null", "none"};

/// Columns in which no division at all is often written as 0.
constexpr std::array<std::string_view, 6> kNoneAsZero{"cp", "ep", "experts", "top_k", "vpp", "servers"};

bool is_one_of(const auto& words, std::string_view text) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

constexpr double kMostWhole = 1e15;  // far beyond any count of a run, and exact in a double

}  // namespace

std::optional<std::size_t> CsvTable::column(std::string_view name) const {
  for (std::size_t i = 0; i < header.size(); ++i)
    if (header[i].text == name) return i;
  return std::nullopt;
}

CsvTable parse_csv(std::string_view text, const std::string& file) {
  CsvTable table{file, {}, {}};
  std::vector<Fault> faults;
  Reader(text, table, faults).read();
  refuse_other_separators(table);
  check_header(table, faults);
  if (!is_utf8(std::string(text))) check_text(table, faults);
  if (!faults.empty()) throw InputError(std::move(faults));
  return table;
}

CsvTable read_csv(const std::filesystem::path& file) {
  errno = 0;
  std::ifstream in(file, std::ios::binary);
  std::error_code error;
  const std::uintmax_t size =
      std::filesystem::is_regular_file(file, error) ? std::filesystem::file_size(file, error) : 0;
  if (!in || !std::filesystem::is_regular_file(file, error))
    throw InputError(
        {{file.string(), "", fmt::format("cannot be read: {}", errno != 0 ? std::strerror(errno) : "not a file"), ""}});
  if (size > kMostCsvBytes)
    throw InputError(
        {{file.string(), "", fmt::format("found {} bytes, expected at most {}", size, kMostCsvBytes), ""}});
  std::ostringstream text;
  text << in.rdbuf();
  return parse_csv(text.str(), file.string());
}

std::string CsvRow::text(std::string_view column) const {
  const std::optional<std::size_t> place = table_.column(column);
  return place ? fields_[*place].text : std::string();
}

std::optional<double> CsvRow::number(std::string_view column) const {
  const std::string found = text(column);
  if (found.empty() || is_one_of(kNotKnown, lower_case(found))) return std::nullopt;
  if (found == "0" && is_one_of(kNoneAsZero, column)) return std::nullopt;
  const std::optional<double> value = parse_number(found);
  if (value && *value > 0) return value;
  fault(column, fmt::format("found \"{}\", expected a number above 0", found));
  return std::nullopt;
}

std::optional<long> CsvRow::whole(std::string_view column) const {
  const std::optional<double> value = number(column);
  if (!value) return std::nullopt;
  if (*value == std::floor(*value) && *value <= kMostWhole) return static_cast<long>(*value);
  fault(column, fmt::format("found \"{}\", expected a whole number", text(column)));
  return std::nullopt;
}

template <typename Number>
Number CsvRow::required(std::string_view column, std::optional<Number> found, std::string_view what) const {
  const std::string stated = text(column);
  if (stated.empty() || is_one_of(kNotKnown, lower_case(stated)))
    fault(column, fmt::format("found {}, expected {}", stated.empty() ? "nothing" : '"' + stated + '"', what));
  return found.value_or(1);
}

double CsvRow::required_number(std::string_view column) const { return required(column, number(column), "a number"); }

long CsvRow::required_whole(std::string_view column) const { return required(column, whole(column), "a whole number"); }

void throw_if_faulty(std::vector<Fault> faults) {
  std::set<std::string> seen;
  const auto repeated = [&](const Fault& fault) { return !seen.insert(fault.text()).second; };
  faults.erase(std::remove_if(faults.begin(), faults.end(), repeated), faults.end());
  if (!faults.empty()) throw InputError(std::move(faults));
}

void CsvRow::fault(std::string_view column, std::string message, std::string suggestion) const {
  const CsvField& field = fields_[table_.column(column).value_or(0)];
  faults_.push_back(fault_at(table_.file, field.line, field.column, fmt::format("{}: {}", column, std::move(message)),
                             std::move(suggestion)));
}

}  // namespace stepcast
