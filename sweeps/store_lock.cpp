#include "sweeps/store_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "fields/diagnostics.hpp"
#include "sim/protocol/environment_error.hpp"

namespace stepcast {

namespace {

/// Whether the open file still has its name: its holder may have removed it between our opening and locking it.
bool still_named(int descriptor, const std::filesystem::path& file) {
  struct stat open {};
  struct stat named {};
  return ::fstat(descriptor, &open) == 0 && ::stat(file.c_str(), &named) == 0 && open.st_ino == named.st_ino &&
         open.st_dev == named.st_dev;
}

}  // namespace

StoreLock::StoreLock(const std::filesystem::path& store) : file_(store.string() + ".lock") {
  while (true) {
    descriptor_ = ::open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor_ < 0)
      throw InputError({{store.string(), "", fmt::format("cannot be written: {}", std::strerror(errno)),
                         "name a store in a folder that can be written"}});
    if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
      const int error = errno;
      ::close(descriptor_);
      descriptor_ = -1;
      if (error == EWOULDBLOCK)
        throw EnvironmentError(fmt::format(
            "{}: another sweep is writing to this store; wait for it, or name another store", store.string()));
      throw EnvironmentError(fmt::format("{}: cannot be locked: {}", file_.string(), std::strerror(error)));
    }
    if (still_named(descriptor_, file_)) return;
    ::close(descriptor_);
  }
}

StoreLock::~StoreLock() {
  ::unlink(file_.c_str());
  ::close(descriptor_);
}

}  // namespace stepcast
