#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stepcast::test {

/// Writes protobuf's wire format by hand, so that the reader is not tested against its own writer.
inline std::string varint(std::uint64_t value) {
  std::string out;
  for (; value > 0x7f; value >>= 7) out += static_cast<char>((value & 0x7f) | 0x80);
  return out + static_cast<char>(value);
}
inline std::string number_field(int field, std::uint64_t value) { return varint(field << 3) + varint(value); }
inline std::string text_field(int field, std::string_view text) {
  return varint(field << 3 | 2) + varint(text.size()) + std::string(text);
}

/// Attributes: name 1, then one value: 9 int64, 13 uint64, 27 bool, 29 string.
inline std::string attribute(std::string_view name, int value_field, std::uint64_t value) {
  return text_field(10, text_field(1, name) + number_field(value_field, value));
}
inline std::string text_attribute(std::string_view name, std::string_view value) {
  return text_field(10, text_field(1, name) + text_field(29, value));
}

enum NodeType { kMetadata = 1, kLoad, kStore, kCompute, kSend, kReceive, kCollective };

/// A node with data dependencies, packed as protobuf 3 packs them.
inline std::string node(std::uint64_t id, int type, std::initializer_list<std::uint64_t> data, std::uint64_t us,
                        const std::string& attributes = {}) {
  std::string parents;
  for (const std::uint64_t parent : data) parents += varint(parent);
  std::string out = number_field(1, id) + text_field(2, "node " + std::to_string(id)) + number_field(3, type);
  if (!parents.empty()) out += text_field(5, parents);
  if (us > 0) out += number_field(7, us);
  return out + attributes;
}

inline std::string collective(std::uint64_t id, std::initializer_list<std::uint64_t> data, int type, std::uint64_t size,
                              const std::string& group = {}) {
  return node(id, kCollective, data, 0,
              attribute("comm_type", 9, type) + attribute("comm_size", 9, size) +
                  (group.empty() ? "" : text_attribute("pg_name", group)));
}
inline std::string message(std::uint64_t id, std::initializer_list<std::uint64_t> data, NodeType type, int from, int to,
                           std::uint64_t size, int tag = 0) {
  return node(id, type, data, 0,
              attribute("comm_src", 7, from) + attribute("comm_dst", 7, to) + attribute("comm_size", 9, size) +
                  attribute("comm_tag", 7, tag));
}

inline std::string framed(const std::string& message) { return varint(message.size()) + message; }

/// A whole file: metadata of version 0.0.4, then the nodes.
inline std::string trace(const std::vector<std::string>& nodes) {
  std::string out = framed(text_field(1, "0.0.4"));
  for (const std::string& each : nodes) out += framed(each);
  return out;
}

inline std::filesystem::path write_bytes(const std::filesystem::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary) << bytes;
  return file;
}

}  // namespace stepcast::test
