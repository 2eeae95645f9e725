#include "gui/view-models/document_edit.hpp"

#include <utility>

namespace stepcast {

void write_at(Json& document, const std::string& pointer, Json value) {
  for (auto slash = pointer.find('/', 1); slash != std::string::npos; slash = pointer.find('/', slash + 1)) {
    Json& above = document[Json::json_pointer(pointer.substr(0, slash))];
    if (!above.is_object()) above = Json::object();
  }
  document[Json::json_pointer(pointer)] = std::move(value);
}

}  // namespace stepcast
