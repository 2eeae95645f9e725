#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace stepcast {

/// One named value of a trace or of a node. Signed and unsigned integers of every width are one alternative each;
/// numbers in lists are doubles.
struct ChakraAttribute {
  using Value = std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string,
                             std::vector<double>, std::vector<std::string>>;
  std::string name;
  Value value;

  /// As a whole number; nothing when it is none, or does not fit.
  [[nodiscard]] std::optional<std::int64_t> integer() const;
  /// Integers, booleans and floating-point numbers as a number.
  [[nodiscard]] std::optional<double> number() const;
  /// Nothing when it is of another type.
  [[nodiscard]] std::optional<bool> boolean() const;
  /// A text, or an integer as text: some writers number their process groups.
  [[nodiscard]] std::optional<std::string> text() const;
};

/// The attribute of a name; null when there is none.
const ChakraAttribute* find_attribute(const std::vector<ChakraAttribute>& attributes, std::string_view name);

/// Types of nodes by their number on the wire.
enum class ChakraNodeType : std::uint32_t {
  invalid,
  metadata,
  memory_load,
  memory_store,
  compute,
  send,
  receive,
  collective
};
inline constexpr std::uint32_t kChakraNodeTypes = 8;

struct ChakraMetadata {
  std::string version;
  std::vector<ChakraAttribute> attributes;
};

struct ChakraNode {
  std::uint64_t id = 0;
  std::string name;
  std::uint32_t type = 0;  ///< a ChakraNodeType, or anything that a file says
  std::vector<std::uint64_t> control, data;
  std::uint64_t start_us = 0, duration_us = 0;
  std::string inputs;  ///< values of its inputs
  std::vector<ChakraAttribute> attributes;
};

/// Bounds of one trace file; decompressed bytes.
inline constexpr std::size_t kMostChakraBytes = std::size_t{4} << 30;
inline constexpr std::size_t kMostChakraMessage = std::size_t{16} << 20;

/// Reads a trace node by node, gzip-compressed or not. What the format may add later (unknown fields) is skipped.
class ChakraReader {
 public:
  /// Reads the metadata. Throws InputError when the file cannot be read or is no trace.
  explicit ChakraReader(const std::filesystem::path& file);
  ~ChakraReader();
  ChakraReader(const ChakraReader&) = delete;
  ChakraReader& operator=(const ChakraReader&) = delete;

  [[nodiscard]] const ChakraMetadata& metadata() const;
  /// The next node; false at the end. Throws InputError that says at which byte the trace is damaged.
  bool next(ChakraNode& node);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Writes a trace node by node. The file appears whole on commit, or not at all.
class ChakraWriter {
 public:
  ChakraWriter(const std::filesystem::path& file, const ChakraMetadata& metadata);
  ~ChakraWriter();
  ChakraWriter(const ChakraWriter&) = delete;
  ChakraWriter& operator=(const ChakraWriter&) = delete;

  /// Appends a node. Throws InputError when the file cannot be written.
  void write(const ChakraNode& node);
  /// Puts the file in its place; no node may follow.
  void commit();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace stepcast
