#include "calibration/importers/byte_source.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "fields/diagnostics.hpp"

namespace stepcast {

namespace {

constexpr std::size_t kChunk = 1 << 16;
/// zlib's largest window, and 16 to say that the format is gzip's.
constexpr int kGzipWindow = 15 + 16;

}  // namespace

struct ByteSource::Impl {
  Impl(const std::filesystem::path& path, std::size_t most) : file(path.string()), most_bytes(most) {
    std::error_code error;
    if (std::filesystem::is_directory(path, error)) fail("is a directory, expected a file");
    stream = std::fopen(path.c_str(), "rb");
    if (!stream) fail(fmt::format("cannot be read: {}", std::strerror(errno)));
    refill();
    gzip = length >= 2 && chunk[0] == 0x1f && chunk[1] == 0x8b;
    if (gzip && inflateInit2(&inflater, kGzipWindow) != Z_OK) fail("cannot be decompressed: out of memory");
    inflating = gzip;
  }
  ~Impl() {
    if (stream) std::fclose(stream);
    if (inflating) inflateEnd(&inflater);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  [[noreturn]] void fail(std::string message) {
    // A constructor that throws is not followed by its destructor.
    if (stream) std::fclose(std::exchange(stream, nullptr));
    throw InputError({{file, "", std::move(message), ""}});
  }

  void refill() {
    length = std::fread(chunk.data(), 1, chunk.size(), stream);
    used = 0;
    if (length == 0 && std::ferror(stream)) fail(fmt::format("cannot be read: {}", std::strerror(errno)));
  }

  std::size_t read_plain(char* to, std::size_t count) {
    std::size_t done = 0;
    while (done < count) {
      if (used == length) refill();
      if (length == 0) break;
      const std::size_t part = std::min(count - done, length - used);
      std::memcpy(to + done, chunk.data() + used, part);
      used += part;
      done += part;
    }
    return done;
  }

  std::size_t read_inflated(char* to, std::size_t count) {
    inflater.next_out = reinterpret_cast<Bytef*>(to);
    inflater.avail_out = static_cast<uInt>(count);
    while (inflater.avail_out > 0) {
      if (used == length) refill();
      if (length == 0) {
        if (!between_members) fail("the compressed file ends in the middle: it is truncated");
        break;
      }
      inflater.next_in = chunk.data() + used;
      inflater.avail_in = static_cast<uInt>(length - used);
      between_members = false;
      const int status = inflate(&inflater, Z_NO_FLUSH);
      used = length - inflater.avail_in;
      if (status == Z_STREAM_END) {
        // Files that were compressed one by one and put together are one file.
        between_members = true;
        inflateReset(&inflater);
      } else if (status != Z_OK && status != Z_BUF_ERROR) {
        fail(fmt::format("the compressed file is damaged: {}", inflater.msg ? inflater.msg : "unknown reason"));
      }
    }
    return count - inflater.avail_out;
  }

  std::string file;
  std::size_t most_bytes;
  std::FILE* stream = nullptr;
  std::array<unsigned char, kChunk> chunk{};
  std::size_t length = 0, used = 0;
  bool gzip = false, inflating = false, between_members = false;
  z_stream inflater{};
};

ByteSource::ByteSource(const std::filesystem::path& file, std::size_t most_bytes)
    : impl_(std::make_unique<Impl>(file, most_bytes)) {}

ByteSource::~ByteSource() = default;

std::size_t ByteSource::read(char* to, std::size_t count) {
  const std::size_t done = impl_->gzip ? impl_->read_inflated(to, count) : impl_->read_plain(to, count);
  position_ += done;
  if (position_ > impl_->most_bytes)
    impl_->fail(fmt::format("is larger than {} MiB{}", impl_->most_bytes >> 20, impl_->gzip ? " decompressed" : ""));
  return done;
}

}  // namespace stepcast
