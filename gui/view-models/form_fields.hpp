#pragma once

#include <QString>
#include <QStringList>
#include <string>
#include <vector>

#include "fields/json_text.hpp"

namespace stepcast {

/// What a field is edited with.
enum class FieldKind { text, choice, flag, integer, number, structure };

/// One field of the scenario form, made from the field table that its parser is made from.
struct FormField {
  std::string pointer;  ///< where it stands in the document: "/cluster/nodes"
  QString label, unit, doc;
  FieldKind kind = FieldKind::text;
  QStringList choices;    ///< of an enum
  std::string refers_to;  ///< catalogue kind whose ids it takes; "models" and "frameworks" beside the catalogue's
  Json standard;          ///< what it holds when left out; null: it is optional, the program decides
  bool main = false;      ///< shown at once; the others are below "more"
  bool counted = false;   ///< a degree or size of which only some values are legal: they can be listed
};

struct FormSection {
  QString title;
  std::vector<FormField> fields;
};

/// The whole form, in the order of the tables.
const std::vector<FormSection>& form_sections();
/// The field at a pointer; null when the form has none.
const FormField* form_field(const std::string& pointer);
/// The field that a fault's pointer belongs to: itself, or the nearest one above it. Null when there is none.
const FormField* field_of_fault(const std::string& pointer);

}  // namespace stepcast
