#include "gui/view-models/listed_ids.hpp"

#include "gui/view-models/form_fields.hpp"
#include "gui/view-models/qt_text.hpp"
#include "hardware-catalog/catalog.hpp"
#include "models/frameworks/framework.hpp"
#include "models/workload/model.hpp"

namespace stepcast {

QStringList listed_ids(const FormField& field, const Catalog& catalog) {
  QStringList out;
  for (const std::string& id : field.refers_to == "models"       ? model_ids()
                               : field.refers_to == "frameworks" ? framework_ids()
                                                                 : catalog.ids(field.refers_to))
    out << qt(id);
  return out;
}

}  // namespace stepcast
