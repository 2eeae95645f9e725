#include "report/streamed_file.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "fields/diagnostics.hpp"

namespace stepcast {

StreamedFile::StreamedFile(std::filesystem::path file)
    : file_(std::move(file)), temporary_(file_.string() + ".XXXXXX") {
  const int descriptor = mkstemp(temporary_.data());
  if (descriptor < 0) {
    temporary_.clear();
    fail(errno);
  }
  // mkstemp keeps the file private; the finished one gets the rights of an ordinary file.
  const mode_t mask = umask(0);
  umask(mask);
  if (fchmod(descriptor, 0666 & ~mask) != 0 || !(stream_ = fdopen(descriptor, "wb"))) {
    const int error = errno;
    close(descriptor);
    fail(error);
  }
}

StreamedFile::~StreamedFile() {
  if (stream_) std::fclose(stream_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void StreamedFile::write(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stream_) != text.size()) fail(errno);
}

void StreamedFile::commit() {
  std::FILE* stream = std::exchange(stream_, nullptr);
  if (std::fclose(stream) != 0) fail(errno);
  if (rename(temporary_.c_str(), file_.c_str()) != 0) fail(errno);
  temporary_.clear();
}

void StreamedFile::fail(int error) {
  if (stream_) std::fclose(std::exchange(stream_, nullptr));
  if (!temporary_.empty()) unlink(std::exchange(temporary_, {}).c_str());
  throw InputError({{file_.string(), "", fmt::format("cannot be written: {}", std::strerror(error)), ""}});
}

}  // namespace stepcast
