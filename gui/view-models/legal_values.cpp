#include <algorithm>

#include "gui/view-models/configuration_model.hpp"
#include "gui/view-models/document_edit.hpp"
#include "gui/view-models/form_fields.hpp"
#include "gui/view-models/qt_text.hpp"
#include "models/scenario/scenario.hpp"

namespace stepcast {

namespace {

constexpr long kMostListed = 64;

std::vector<long> divisors(long number) {
  std::vector<long> out;
  for (long i = 1; i * i <= number; ++i)
    if (number % i == 0) {
      out.push_back(i);
      if (i != number / i) out.push_back(number / i);
    }
  std::sort(out.begin(), out.end());
  return out;
}

/// Counts worth trying: divisors of the devices for degrees, of the batch for micro-batches.
std::vector<long> counts_to_try(const FormField& field, const Json& document, const Catalog& catalog) {
  const auto number = [&](const char* pointer, long otherwise) {
    const Json::json_pointer at(pointer);
    return document.contains(at) && document.at(at).is_number_integer() ? document.at(at).get<long>() : otherwise;
  };
  if (field.pointer == "/strategy/virtual_pipeline") {
    std::vector<long> out;
    for (long i = 1; i <= kMostListed; ++i) out.push_back(i);
    return out;
  }
  if (field.pointer == "/strategy/micro_batch")
    return divisors(std::clamp(number("/workload/global_batch", 1), 1L, 1L << 24));
  const Json::json_pointer node_at("/cluster/node");
  const Node* node = document.contains(node_at) && document.at(node_at).is_string()
                         ? catalog.find<Node>(document.at(node_at).get<std::string>())
                         : nullptr;
  return divisors(std::clamp(number("/cluster/nodes", 1), 1L, 1'000'000L) * (node ? node->devices() : 1));
}

Json with(Json document, const std::string& pointer, const Json& value) {
  write_at(document, pointer, value);
  return document;
}

/// Why a document cannot stand; empty when it can. A document that was faulty before is only blamed for this field.
QString why_not(const Json& document, const std::string& pointer, bool all_faults, const Catalog& catalog) {
  try {
    resolve(document, "scenario", {}, catalog);
  } catch (const InputError& error) {
    for (const Fault& fault : error.faults())
      if (all_faults || fault.pointer.starts_with(pointer)) return qt(fault.message);
  }
  return {};
}

}  // namespace

std::vector<ConfigurationModel::LegalValue> ConfigurationModel::legal_values(const FormField& field) const {
  std::vector<LegalValue> out;
  for (const QString& choice : field.choices) out.push_back({plain(choice), choice, {}});
  if (field.refers_to == "frameworks")
    for (const std::string& id : framework_ids()) out.push_back({id, qt(id), {}});
  if (field.counted) {
    std::vector<long> counts = counts_to_try(field, document_, *catalog_);
    if (counts.size() > kMostListed) counts.resize(kMostListed);
    for (const long count : counts) out.push_back({count, QString::number(count), {}});
  }
  for (LegalValue& value : out)
    value.why_not = why_not(with(document_, field.pointer, value.value), field.pointer, is_valid(), *catalog_);
  if (field.counted) std::erase_if(out, [](const LegalValue& value) { return !value.why_not.isEmpty(); });
  return out;
}

}  // namespace stepcast
