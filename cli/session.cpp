#include "cli/session.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace stepcast {

const Catalog& Session::catalog() {
  if (!catalog_) catalog_ = std::make_unique<Catalog>(Catalog::standard(catalog_directories));
  return *catalog_;
}

void Session::print(const std::string& text) {
  // Flushed here, so that a full disk is an error of this command and not lost at exit.
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (!written) throw EnvironmentError(fmt::format("cannot write to standard output: {}", std::strerror(errno)));
}

void Session::print(const Json& document) {
  print(document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace stepcast
