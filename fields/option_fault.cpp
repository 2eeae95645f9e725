#include "fields/option_fault.hpp"

#include "fields/diagnostics.hpp"

namespace stepcast {

void refuse_option(std::string option, std::string message, std::string hint) {
  throw InputError({{std::move(option), "", std::move(message), std::move(hint)}});
}

}  // namespace stepcast
