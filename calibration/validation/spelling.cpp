#include "calibration/validation/spelling.hpp"

#include <array>

#include "calibration/validation/accelerator_names.hpp"
#include "calibration/validation/model_names.hpp"
#include "fields/plain_text.hpp"

namespace stepcast {

namespace {

struct Respelled {
  std::string_view column;
  std::string (*spell)(std::string_view text);
};
constexpr std::array kRespelled{Respelled{"accelerator_id", accelerator_of},
                                Respelled{"gpu", accelerator_of},
                                Respelled{"model", model_name_of},
                                Respelled{"precision", lower_case},
                                Respelled{"recompute", lower_case},
                                Respelled{"benchmark", lower_case},
                                Respelled{"division", lower_case}};

}  // namespace

CsvTable in_shipped_spelling(CsvTable table) {
  for (const Respelled& one : kRespelled)
    if (const std::optional<std::size_t> place = table.column(one.column))
      for (std::vector<CsvField>& row : table.rows) row[*place].text = one.spell(row[*place].text);
  return table;
}

}  // namespace stepcast
