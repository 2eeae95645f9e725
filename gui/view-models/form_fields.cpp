#include "gui/view-models/form_fields.hpp"

#include <QHash>
#include <array>
#include <set>

#include "gui/view-models/qt_text.hpp"
#include "models/scenario/scenario.hpp"

namespace stepcast {

namespace {

/// Fields that most people set; the rest waits below "more".
const std::set<std::string, std::less<>> kMain{"/name",
                                               "/cluster/node",
                                               "/cluster/nodes",
                                               "/cluster/storage",
                                               "/cluster/site",
                                               "/cluster/fabric/preset",
                                               "/cluster/fabric/oversubscription",
                                               "/workload/model",
                                               "/workload/global_batch",
                                               "/workload/seq_len",
                                               "/workload/precision",
                                               "/workload/tokens",
                                               "/strategy/framework",
                                               "/strategy/tensor_parallel",
                                               "/strategy/pipeline_parallel",
                                               "/strategy/virtual_pipeline",
                                               "/strategy/context_parallel",
                                               "/strategy/expert_parallel",
                                               "/strategy/micro_batch",
                                               "/strategy/recompute",
                                               "/strategy/sharding",
                                               "/strategy/sequence_parallel"};

/// Whole numbers of which a scenario allows few.
const std::set<std::string, std::less<>> kCounted{
    "/strategy/tensor_parallel",  "/strategy/pipeline_parallel", "/strategy/virtual_pipeline",
    "/strategy/context_parallel", "/strategy/expert_parallel",   "/strategy/expert_tensor_parallel",
    "/strategy/data_parallel",    "/strategy/micro_batch",       "/strategy/hsdp_shard_size"};

struct Word {
  const char* in_key;
  const char* written;
};
constexpr std::array kWords{Word{"nic", "NIC"},   Word{"nics", "NICs"}, Word{"pxn", "PXN"},    Word{"wan", "WAN"},
                            Word{"hsdp", "HSDP"}, Word{"fp32", "fp32"}, Word{"len", "length"}, Word{"seq", "sequence"}};
constexpr std::array kUnits{Word{"_Gbps", "Gb/s"}, Word{"_us", "µs"}, Word{"_ms", "ms"}};

void name_field(FormField& field, std::string key) {
  for (const Word& unit : kUnits)
    if (key.ends_with(unit.in_key)) {
      field.unit = QString::fromUtf8(unit.written);
      key = key.substr(0, key.size() - std::string_view(unit.in_key).size());
      break;
    }
  QStringList words = qt(key).split(QLatin1Char('_'));
  for (QString& word : words)
    for (const Word& known : kWords)
      if (word == QLatin1String(known.in_key)) word = QString::fromUtf8(known.written);
  field.label = sentence(words.join(QLatin1Char(' ')));
}

FieldKind kind_of(const Json& schema) {
  if (schema.contains("enum")) return FieldKind::choice;
  const std::string type = schema.value("type", "");
  if (type == "boolean") return FieldKind::flag;
  if (type == "integer") return FieldKind::integer;
  if (type == "number") return FieldKind::number;
  if (type == "string") return FieldKind::text;
  return FieldKind::structure;
}

template <class T>
void append(FormSection& section, const std::string& base, const std::set<std::string>& apart = {}) {
  const T fresh{};
  for (const auto& entry : T::fields().entries()) {
    if (apart.contains(entry.key)) continue;
    FormField field;
    field.pointer = base + "/" + entry.key;
    name_field(field, entry.key);
    field.doc = qt(entry.doc);
    field.kind = kind_of(entry.schema);
    if (field.kind == FieldKind::choice)
      for (const Json& value : entry.schema["enum"]) field.choices << qt(value.get<std::string>());
    field.refers_to = entry.rules.refers_to;
    if (!entry.rules.required) field.standard = entry.write(fresh);
    if (field.standard.is_string() && field.standard.template get_ref<const std::string&>().empty())
      field.standard = nullptr;
    field.main = kMain.contains(field.pointer);
    field.counted = kCounted.contains(field.pointer);
    section.fields.push_back(std::move(field));
  }
}

FormField& at(FormSection& section, std::string_view pointer) {
  for (FormField& field : section.fields)
    if (field.pointer == pointer) return field;
  throw std::logic_error("the form has no field " + std::string(pointer));
}

std::vector<FormSection> make_sections() {
  std::vector<FormSection> out(6);
  out[0].title = QStringLiteral("Scenario");
  append<ScenarioSpec>(out[0], "", {"$schema", "format_version", "cluster", "workload", "strategy", "run"});
  out[1].title = QStringLiteral("Servers");
  append<ClusterSpec>(out[1], "/cluster", {"fabric"});
  at(out[1], "/cluster/node").label = QStringLiteral("Server");
  at(out[1], "/cluster/nodes").label = QStringLiteral("How many");
  out[2].title = QStringLiteral("Network");
  append<FabricSpec>(out[2], "/cluster/fabric");
  at(out[2], "/cluster/fabric/preset").label = QStringLiteral("Fabric");
  out[3].title = QStringLiteral("Training");
  append<WorkloadSpec>(out[3], "/workload");
  FormField& model = at(out[3], "/workload/model");
  model.kind = FieldKind::text;
  model.refers_to = "models";
  out[4].title = QStringLiteral("Strategy");
  append<StrategySpec>(out[4], "/strategy");
  at(out[4], "/strategy/framework").refers_to = "frameworks";
  out[5].title = QStringLiteral("Forecast");
  append<RunSpec>(out[5], "/run");
  return out;
}

}  // namespace

const std::vector<FormSection>& form_sections() {
  static const std::vector<FormSection> kSections = make_sections();
  return kSections;
}

const FormField* form_field(const std::string& pointer) {
  for (const FormSection& section : form_sections())
    for (const FormField& field : section.fields)
      if (field.pointer == pointer) return &field;
  return nullptr;
}

const FormField* field_of_fault(const std::string& pointer) {
  for (std::string at = pointer; !at.empty(); at.resize(at.rfind('/')))
    if (const FormField* field = form_field(at)) return field;
  return nullptr;
}

}  // namespace stepcast
