#include "calibration/probes/common/library.hpp"

#include <dlfcn.h>

#include "calibration/probes/common/fault.hpp"

namespace stepcast::probes {

Library::Library(std::string product, const std::vector<std::string>& names) : product_(std::move(product)) {
  std::string reason;
  for (const std::string& name : names) {
    handle_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_) {
      file_ = name;
      return;
    }
    if (reason.empty()) reason = dlerror();
  }
  throw missing(product_ + " is not here: " + reason);
}

void* Library::address(const char* name, bool required) const {
  void* found = dlsym(handle_, name);
  if (!found && required)
    throw missing(product_ + ": " + file_ + " has no function " + name + "; it is too old, or not what its name says");
  return found;
}

}  // namespace stepcast::probes
