#include "fields/streamed_file.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace stepcast {

namespace {

/// A rename would put the text in the place of a link: what the link names is meant.
std::filesystem::path followed(const std::filesystem::path& file) {
  std::error_code error;
  const std::filesystem::path target = std::filesystem::canonical(file, error);
  return error ? file : target;
}

/// Devices and pipes take text; replacing them by a file of that name would destroy them.
bool is_replaceable(const std::filesystem::path& file) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(file, error);
  return !std::filesystem::exists(status) || std::filesystem::is_regular_file(status);
}

/// The outermost folder on the way to a file that is not there; empty where all are.
std::string missing_directory(const std::filesystem::path& file) {
  std::error_code error;
  std::filesystem::path missing;
  for (std::filesystem::path at = std::filesystem::absolute(file, error).parent_path();
       !std::filesystem::exists(at, error) && at != at.parent_path(); at = at.parent_path())
    missing = at;
  return missing.empty() ? "" : fmt::format("directory {} does not exist", missing.string());
}

}  // namespace

StreamedFile::StreamedFile(const std::filesystem::path& file) : file_(file), target_(followed(file)) {
  is_replaceable(target_) ? open_temporary() : open_in_place();
}

void StreamedFile::open_in_place() {
  stream_ = std::fopen(target_.c_str(), "wb");
  if (!stream_) fail(errno);
}

void StreamedFile::open_temporary() {
  temporary_ = target_.string() + ".XXXXXX";
  const int descriptor = mkstemp(temporary_.data());
  if (descriptor < 0) {
    const int error = errno;
    temporary_.clear();
    fail(error);
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
  // On the disk before it takes the old file's name, so that a crash leaves one of the two whole.
  if (std::fflush(stream_) != 0 || (!temporary_.empty() && fsync(fileno(stream_)) != 0)) fail(errno);
  if (std::fclose(std::exchange(stream_, nullptr)) != 0) fail(errno);
  if (!temporary_.empty() && rename(temporary_.c_str(), target_.c_str()) != 0) fail(errno);
  temporary_.clear();
}

void StreamedFile::fail(int error) {
  if (stream_) std::fclose(std::exchange(stream_, nullptr));
  if (!temporary_.empty()) unlink(std::exchange(temporary_, {}).c_str());
  std::vector<Fault> faults{{file_.string(), "", fmt::format("cannot be written: {}", std::strerror(error)),
                             error == ENOENT ? missing_directory(target_) : std::string()}};
  if (error == ENOSPC || error == EDQUOT || error == EIO) throw DiskError(std::move(faults));
  throw InputError(std::move(faults));
}

}  // namespace stepcast
