#include "fields/utf8.hpp"

#include "fields/json_text.hpp"

namespace stepcast {

bool is_utf8(const std::string& text) {
  // The writer of JSON checks every byte and knows all that is no character, as surrogates and overlong forms.
  try {
    (void)Json(text).dump();
    return true;
  } catch (const Json::type_error&) {
    return false;
  }
}

}  // namespace stepcast
