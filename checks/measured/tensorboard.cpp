#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <fstream>

#include "checks/measured/measured_results.hpp"
#include "event.pb.h"

namespace stepcast {

namespace {

/// Longest record: an event with images is refused nobody, one that only claims to be long is.
constexpr std::uint64_t kLongestRecord = 256u << 20;

/// CRC-32C (Castagnoli, reflected polynomial 0x82F63B78), which TFRecord guards lengths and data with.
std::uint32_t crc32c(std::string_view bytes) {
  static const auto table = [] {
    std::array<std::uint32_t, 256> out{};
    for (std::uint32_t i = 0; i < out.size(); ++i) {
      std::uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = (value >> 1U) ^ ((value & 1U) != 0 ? 0x82F63B78U : 0U);
      out[i] = value;
    }
    return out;
  }();
  std::uint32_t crc = 0xFFFFFFFFU;
  for (const char c : bytes) crc = table[(crc ^ static_cast<unsigned char>(c)) & 0xFFU] ^ (crc >> 8U);
  return ~crc;
}

/// Masked as in tensorflow/core/lib/hash/crc32c.h.
std::uint32_t masked(std::uint32_t crc) { return std::rotr(crc, 15) + 0xa282ead8U; }

template <class T>
T little_endian(const char* bytes) {
  static_assert(std::endian::native == std::endian::little);
  T out{};
  std::memcpy(&out, bytes, sizeof(T));
  return out;
}

/// Records of a TFRecord file: length, its CRC, data, its CRC. A file that is still written ends in half a record.
class RecordReader {
 public:
  RecordReader(const std::filesystem::path& file, Diagnostics& diagnostics)
      : in_(file, std::ios::binary), diagnostics_(diagnostics) {
    if (!in_) diagnostics_.error("", "cannot be read");
  }

  bool next(std::string& data) {
    std::array<char, 12> header;
    if (!in_.read(header.data(), header.size())) return false;
    const auto length = little_endian<std::uint64_t>(header.data());
    const std::string_view length_bytes(header.data(), sizeof(length));
    if (masked(crc32c(length_bytes)) != little_endian<std::uint32_t>(header.data() + sizeof(length)))
      return damaged("the check sum of a record's length is wrong");
    if (length > kLongestRecord) return damaged("a record is too long");
    data.resize(length);
    std::array<char, 4> sum;
    if (!in_.read(data.data(), static_cast<std::streamsize>(length)) || !in_.read(sum.data(), sum.size())) return false;
    if (masked(crc32c(data)) != little_endian<std::uint32_t>(sum.data()))
      return damaged("the check sum of a record is wrong");
    ++records_;
    return true;
  }

 private:
  bool damaged(const char* how) {
    diagnostics_.error("", fmt::format("is no sound event file: {} (after {} records)", how, records_));
    return false;
  }

  std::ifstream in_;
  Diagnostics& diagnostics_;
  std::int64_t records_ = 0;
};

std::optional<double> scalar_of(const tensorboard::Summary::Value& value) {
  using Value = tensorboard::Summary::Value;
  if (value.value_case() == Value::kSimpleValue) return value.simple_value();
  if (value.value_case() != Value::kTensor) return std::nullopt;
  const tensorboard::Tensor& tensor = value.tensor();
  const std::string& content = tensor.tensor_content();
  constexpr int kFloat = 1, kDouble = 2;
  if (tensor.dtype() == kFloat && tensor.float_val_size() == 1) return tensor.float_val(0);
  if (tensor.dtype() == kDouble && tensor.double_val_size() == 1) return tensor.double_val(0);
  if (tensor.dtype() == kFloat && content.size() == sizeof(float)) return little_endian<float>(content.data());
  if (tensor.dtype() == kDouble && content.size() == sizeof(double)) return little_endian<double>(content.data());
  return std::nullopt;
}

void read_events(const std::filesystem::path& file, NamedSeries& out, Diagnostics& diagnostics) {
  RecordReader records(file, diagnostics);
  std::string data;
  while (diagnostics.ok() && records.next(data)) {
    tensorboard::Event event;
    if (!event.ParseFromString(data)) return diagnostics.error("", "a record is no event of TensorBoard");
    for (const tensorboard::Summary::Value& value : event.summary().value())
      if (const auto scalar = scalar_of(value)) add_sample(out, value.tag(), *scalar);
  }
}

}  // namespace

NamedSeries read_tensorboard(const std::filesystem::path& file, Diagnostics& diagnostics) {
  NamedSeries out;
  std::error_code error;
  std::vector<std::filesystem::path> files{file};
  if (std::filesystem::is_directory(file, error)) {
    files.clear();
    for (const auto& entry : std::filesystem::directory_iterator(file, error))
      if (entry.path().filename().string().find("tfevents") != std::string::npos) files.push_back(entry.path());
    std::sort(files.begin(), files.end());  // their names start with the time they were begun
  }
  for (const std::filesystem::path& one : files) {
    Diagnostics reading(one.string());
    // Each was begun by a start of the program, which warms up.
    NamedSeries of_file;
    read_events(one, of_file, reading);
    for (auto& [name, parts] : of_file)
      for (std::vector<double>& part : parts) out[name].push_back(std::move(part));
    diagnostics.add(reading.faults());
  }
  return out;
}

}  // namespace stepcast
