#include "calibration/importers/chakra/chakra_file.hpp"

#include <fmt/format.h>

#include "calibration/importers/byte_source.hpp"
#include "chakra.pb.h"
#include "fields/diagnostics.hpp"
#include "fields/streamed_file.hpp"

namespace stepcast {

namespace {

/// A varint of 64 bits has ten bytes at most.
constexpr int kLongestVarint = 10;

template <class List>
std::vector<double> numbers_of(const List& list) {
  std::vector<double> out;
  for (const auto value : list.values()) out.push_back(static_cast<double>(value));
  return out;
}

std::vector<std::string> texts_of(const chakra::wire::TextList& list) {
  return {list.values().begin(), list.values().end()};
}

ChakraAttribute::Value value_of(const chakra::wire::Attribute& in) {
  using In = chakra::wire::Attribute;
  switch (in.value_case()) {
    case In::kDoubleValue:
      return in.double_value();
    case In::kFloatValue:
      return static_cast<double>(in.float_value());
    case In::kInt32Value:
      return std::int64_t{in.int32_value()};
    case In::kInt64Value:
      return std::int64_t{in.int64_value()};
    case In::kUint32Value:
      return std::uint64_t{in.uint32_value()};
    case In::kUint64Value:
      return std::uint64_t{in.uint64_value()};
    case In::kSint32Value:
      return std::int64_t{in.sint32_value()};
    case In::kSint64Value:
      return std::int64_t{in.sint64_value()};
    case In::kFixed32Value:
      return std::uint64_t{in.fixed32_value()};
    case In::kFixed64Value:
      return std::uint64_t{in.fixed64_value()};
    case In::kSfixed32Value:
      return std::int64_t{in.sfixed32_value()};
    case In::kSfixed64Value:
      return std::int64_t{in.sfixed64_value()};
    case In::kBoolValue:
      return in.bool_value();
    case In::kStringValue:
      return in.string_value();
    case In::kBytesValue:
      return in.bytes_value();
    case In::kDoubleList:
      return numbers_of(in.double_list());
    case In::kFloatList:
      return numbers_of(in.float_list());
    case In::kInt32List:
      return numbers_of(in.int32_list());
    case In::kInt64List:
      return numbers_of(in.int64_list());
    case In::kUint32List:
      return numbers_of(in.uint32_list());
    case In::kUint64List:
      return numbers_of(in.uint64_list());
    case In::kSint32List:
      return numbers_of(in.sint32_list());
    case In::kSint64List:
      return numbers_of(in.sint64_list());
    case In::kFixed32List:
      return numbers_of(in.fixed32_list());
    case In::kFixed64List:
      return numbers_of(in.fixed64_list());
    case In::kSfixed32List:
      return numbers_of(in.sfixed32_list());
    case In::kSfixed64List:
      return numbers_of(in.sfixed64_list());
    case In::kBoolList:
      return numbers_of(in.bool_list());
    case In::kStringList:
      return texts_of(in.string_list());
    case In::kBytesList:
      return texts_of(in.bytes_list());
    case In::VALUE_NOT_SET:
      break;
  }
  return {};
}

template <class Attributes>
std::vector<ChakraAttribute> attributes_of(const Attributes& in) {
  std::vector<ChakraAttribute> out;
  out.reserve(static_cast<std::size_t>(in.size()));
  for (const auto& attribute : in) out.push_back({attribute.name(), value_of(attribute)});
  return out;
}

/// Widths as other readers expect them: comm_* and ids are signed or unsigned 64-bit integers.
void set_value(chakra::wire::Attribute& out, const ChakraAttribute& attribute) {
  out.set_name(attribute.name);
  std::visit(
      [&out](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, bool>) out.set_bool_value(value);
        if constexpr (std::is_same_v<T, std::int64_t>) out.set_int64_value(value);
        if constexpr (std::is_same_v<T, std::uint64_t>) out.set_uint64_value(value);
        if constexpr (std::is_same_v<T, double>) out.set_double_value(value);
        if constexpr (std::is_same_v<T, std::string>) out.set_string_value(value);
        if constexpr (std::is_same_v<T, std::vector<double>>)
          out.mutable_double_list()->mutable_values()->Add(value.begin(), value.end());
        if constexpr (std::is_same_v<T, std::vector<std::string>>)
          for (const std::string& text : value) out.mutable_string_list()->add_values(text);
      },
      attribute.value);
}

}  // namespace

struct ChakraReader::Impl {
  explicit Impl(const std::filesystem::path& path) : file(path.string()), source(path, kMostChakraBytes) {
    if (!read_message()) fail("is empty, expected a Chakra trace");
    chakra::wire::GlobalMetadata in;
    if (!parse(in) || (in.version().empty() && in.attributes().empty() && !message.empty()))
      fail(fmt::format("its first message is no GlobalMetadata: no Chakra trace"));
    metadata = {in.version(), attributes_of(in.attributes())};
  }

  [[noreturn]] void fail(std::string text) {
    if (json)
      throw InputError({{file, "", "is JSON, no Chakra trace in protobuf",
                         "chakra_converter writes one; stepcast import kineto reads a profiler's own trace"}});
    throw InputError({{file, "", std::move(text), ""}});
  }

  template <class Message>
  bool parse(Message& out) {
    return out.ParseFromArray(message.data(), static_cast<int>(message.size()));
  }

  /// The length before a message; nothing at the end of the file.
  std::optional<std::uint64_t> read_length() {
    std::uint64_t length = 0;
    for (int i = 0; i < kLongestVarint; ++i) {
      char byte = 0;
      if (source.read(&byte, 1) == 0) {
        if (i == 0) return std::nullopt;
        fail(fmt::format("ends at byte {}, in the middle of a message's length", source.position()));
      }
      const auto bits = static_cast<std::uint64_t>(static_cast<unsigned char>(byte));
      length |= (bits & 0x7f) << (7 * i);
      if ((bits & 0x80) == 0) return length;
    }
    fail(fmt::format("found no message length at byte {}: it has more than {} bytes", at, kLongestVarint));
  }

  bool read_message() {
    at = source.position();
    const std::optional<std::uint64_t> length = read_length();
    if (!length) return false;
    if (*length > kMostChakraMessage)
      fail(fmt::format("message {} at byte {} has a length of {} bytes, expected at most {}", messages, at, *length,
                       kMostChakraMessage));
    message.resize(*length);
    const std::size_t got = source.read(message.data(), message.size());
    // A brace is the length of a message, too; what follows it in JSON is a key.
    const std::size_t first = message.find_first_not_of(" \t\r\n");
    json = at == 0 && *length == '{' && first != std::string::npos && message[first] == '"';
    if (got < message.size())
      fail(fmt::format("message {} at byte {} has a length of {} bytes, and {} bytes are left", messages, at, *length,
                       got));
    ++messages;
    return true;
  }

  std::string file;
  ByteSource source;
  ChakraMetadata metadata;
  std::string message;
  std::size_t at = 0, messages = 0;
  bool json = false;  ///< its beginning looks so
  chakra::wire::Node wire;
};

ChakraReader::ChakraReader(const std::filesystem::path& file) : impl_(std::make_unique<Impl>(file)) {}
ChakraReader::~ChakraReader() = default;

const ChakraMetadata& ChakraReader::metadata() const { return impl_->metadata; }

bool ChakraReader::next(ChakraNode& node) {
  if (!impl_->read_message()) return false;
  chakra::wire::Node& in = impl_->wire;
  if (!impl_->parse(in)) impl_->fail(fmt::format("message {} at byte {} is no node", impl_->messages - 1, impl_->at));
  node.id = in.id();
  node.name = in.name();
  node.type = in.type();
  node.control.assign(in.control_dependencies().begin(), in.control_dependencies().end());
  node.data.assign(in.data_dependencies().begin(), in.data_dependencies().end());
  node.start_us = in.start_us();
  node.duration_us = in.duration_us();
  node.inputs = in.inputs().values();
  node.attributes = attributes_of(in.attributes());
  return true;
}

struct ChakraWriter::Impl {
  explicit Impl(const std::filesystem::path& path) : file(path) {}

  template <class Message>
  void write(const Message& message) {
    const std::string body = message.SerializeAsString();
    for (std::size_t length = body.size();; length >>= 7) {
      buffer += static_cast<char>(length > 0x7f ? (length & 0x7f) | 0x80 : length);
      if (length <= 0x7f) break;
    }
    buffer += body;
    if (buffer.size() > kBuffer) flush();
  }
  void flush() {
    file.write(buffer);
    buffer.clear();
  }

  static constexpr std::size_t kBuffer = 1 << 20;
  StreamedFile file;
  std::string buffer;
};

ChakraWriter::ChakraWriter(const std::filesystem::path& file, const ChakraMetadata& metadata)
    : impl_(std::make_unique<Impl>(file)) {
  chakra::wire::GlobalMetadata out;
  out.set_version(metadata.version);
  for (const ChakraAttribute& attribute : metadata.attributes) set_value(*out.add_attributes(), attribute);
  impl_->write(out);
}
ChakraWriter::~ChakraWriter() = default;

void ChakraWriter::write(const ChakraNode& node) {
  chakra::wire::Node out;
  out.set_id(node.id);
  out.set_name(node.name);
  out.set_type(node.type);
  for (const std::uint64_t id : node.control) out.add_control_dependencies(id);
  for (const std::uint64_t id : node.data) out.add_data_dependencies(id);
  out.set_start_us(node.start_us);
  out.set_duration_us(node.duration_us);
  for (const ChakraAttribute& attribute : node.attributes) set_value(*out.add_attributes(), attribute);
  impl_->write(out);
}

void ChakraWriter::commit() {
  impl_->flush();
  impl_->file.commit();
}

}  // namespace stepcast
