#include "sim/worker/progress_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "fields/diagnostics.hpp"

namespace stepcast {

namespace {
constexpr std::chrono::milliseconds kBetween{50};
}

ProgressFile::ProgressFile(const std::string& file) {
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor < 0) throw InputError({{file, "", std::strerror(errno), ""}});
  descriptor_ = std::shared_ptr<int>(new int(descriptor), [](const int* open) {
    ::close(*open);
    delete open;
  });
}

void ProgressFile::operator()(std::size_t done, std::size_t all) {
  const auto now = std::chrono::steady_clock::now();
  if (done < all && now - last_ < kBetween) return;
  last_ = now;
  const std::string line = fmt::format("{:>19} {:>19}\n", done, all);
  // Whoever watches is served as well as can be: a full disk ends no simulation.
  if (::pwrite(*descriptor_, line.data(), line.size(), 0) < 0) last_ = now;
}

}  // namespace stepcast
