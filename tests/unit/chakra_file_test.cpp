#include "calibration/importers/chakra/chakra_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "calibration/importers/byte_source.hpp"
#include "fields/diagnostics.hpp"
#include "tests/e2e/process.hpp"
#include "tests/unit/chakra_bytes.hpp"

namespace stepcast::chakra_file_test {
namespace {

using test::attribute;
using test::framed;
using test::node;
using test::number_field;
using test::text_field;
using test::trace;
using test::varint;
using testing::HasSubstr;

class ChakraFile : public testing::Test {
 protected:
  std::filesystem::path file(const std::string& bytes) { return test::write_bytes(folder_ / "t.et", bytes); }

  std::vector<ChakraNode> read(const std::string& bytes) {
    ChakraReader reader(file(bytes));
    std::vector<ChakraNode> out;
    ChakraNode node;
    while (reader.next(node)) out.push_back(node);
    return out;
  }

  std::string refusal(const std::string& bytes) {
    try {
      read(bytes);
    } catch (const InputError& error) {
      return error.what();
    }
    return "nothing was refused";
  }

  std::string gzip(const std::string& bytes) {
    const std::string name = (folder_ / "t.gz").string();
    gzFile out = gzopen(name.c_str(), "wb");
    gzwrite(out, bytes.data(), static_cast<unsigned>(bytes.size()));
    gzclose(out);
    return read_text(name);
  }

  ScratchFolder folder_;
};

TEST_F(ChakraFile, ReadsBytesWrittenByHand) {
  // 0x0a 5 "0.0.4": field 1, text. 0x08 0x96 0x01: field 1, varint 150, protobuf's own example.
  const std::string bytes{
      "\x07\x0a\x05"
      "0.0.4"
      "\x07\x08\x96\x01\x18\x04\x38\x05",
      16};
  const std::vector<ChakraNode> nodes = read(bytes);
  ASSERT_EQ(nodes.size(), 1U);
  EXPECT_EQ(nodes[0].id, 150U);
  EXPECT_EQ(nodes[0].type, 4U);
  EXPECT_EQ(nodes[0].duration_us, 5U);
}

TEST_F(ChakraFile, ReadsVarintsUpToTheLargest) {
  const std::uint64_t largest = ~std::uint64_t{0};
  const std::vector<std::uint64_t> ids{0, 1, 127, 128, 16383, 16384, std::uint64_t{1} << 63, largest};
  for (const std::uint64_t id : ids) {
    const auto nodes = read(trace({node(id, test::kCompute, {id / 2, 1}, id)}));
    ASSERT_EQ(nodes.size(), 1U);
    EXPECT_EQ(nodes[0].id, id);
    EXPECT_EQ(nodes[0].duration_us, id);
    EXPECT_EQ(nodes[0].data, (std::vector<std::uint64_t>{id / 2, 1}));
  }
}

TEST_F(ChakraFile, ReadsDependenciesPackedOrNot) {
  const std::string unpacked =
      number_field(1, 9) + number_field(3, 4) + number_field(5, 300) + number_field(5, 2) + number_field(4, 7);
  const auto nodes = read(trace({unpacked}));
  EXPECT_EQ(nodes.at(0).data, (std::vector<std::uint64_t>{300, 2}));
  EXPECT_EQ(nodes.at(0).control, (std::vector<std::uint64_t>{7}));
}

TEST_F(ChakraFile, ReadsEveryTypeOfAttribute) {
  const auto value = [](int field, const std::string& wire) {
    return text_field(10, text_field(1, "a") + varint(field << 3 | 0) + wire);
  };
  const auto nodes = read(trace(
      {node(1, test::kCompute, {}, 0,
            value(7, varint(5)) + value(9, varint(~std::uint64_t{0})) + value(13, varint(6)) + value(15, varint(3)) +
                value(17, varint(4)) + value(27, varint(1)) + text_field(10, text_field(1, "t") + text_field(29, "x")) +
                text_field(10, text_field(1, "l") + text_field(28, text_field(1, "\x01\x01"))))}));
  const auto& attributes = nodes.at(0).attributes;
  ASSERT_EQ(attributes.size(), 8U);
  EXPECT_EQ(attributes[0].integer(), 5);
  EXPECT_EQ(attributes[1].integer(), -1);  // int64: two's complement in ten bytes
  EXPECT_EQ(attributes[2].integer(), 6);
  EXPECT_EQ(attributes[3].integer(), -2);  // sint32: zigzag, 3 is −2
  EXPECT_EQ(attributes[4].integer(), 2);   // sint64: zigzag, 4 is 2
  EXPECT_EQ(attributes[5].boolean(), true);
  EXPECT_EQ(attributes[6].text(), "x");
  EXPECT_EQ(std::get<std::vector<double>>(attributes[7].value), (std::vector<double>{1, 1}));
}

TEST_F(ChakraFile, SkipsFieldsThatItDoesNotKnow) {
  const std::string unknown = number_field(99, 7) + text_field(100, "later") + varint(101 << 3 | 1) + "12345678";
  const auto nodes = read(trace({node(3, test::kCompute, {}, 2, unknown)}));
  EXPECT_EQ(nodes.at(0).id, 3U);
  EXPECT_EQ(nodes.at(0).duration_us, 2U);
}

TEST_F(ChakraFile, ReadsCompressedFilesAsPlainOnes) {
  const std::string bytes = trace({node(1, test::kCompute, {}, 5), node(2, test::kCompute, {1}, 6)});
  EXPECT_EQ(read(gzip(bytes)).size(), 2U);
  // Two members, as `cat a.gz b.gz` makes them.
  EXPECT_EQ(read(gzip(bytes.substr(0, 9)) + gzip(bytes.substr(9))).size(), 2U);
}

TEST_F(ChakraFile, SaysWhereATraceIsDamaged) {
  const std::string bytes = trace({node(1, test::kCompute, {}, 5), node(2, test::kCompute, {1}, 6)});
  // Every cut but those between messages is one fault, and no crash.
  const std::size_t first = trace({}).size(), second = trace({node(1, test::kCompute, {}, 5)}).size();
  for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
    if (cut == first || cut == second) continue;
    EXPECT_THAT(refusal(bytes.substr(0, cut)), HasSubstr("byte")) << cut;
  }
  EXPECT_THAT(refusal(""), HasSubstr("is empty"));
  EXPECT_THAT(refusal(trace({}) + varint(1ULL << 40)),
              HasSubstr("has a length of 1099511627776 bytes, expected at most"));
  EXPECT_THAT(refusal(trace({}) + std::string(12, '\xff')), HasSubstr("more than 10 bytes"));
  EXPECT_THAT(refusal(trace({"\x0a\xff"})), HasSubstr("message 1 at byte 8 is no node"));
  EXPECT_THAT(refusal("{\"ranks\": 2, \"programs\": []}" + std::string(200, ' ')), HasSubstr("no Chakra trace"));
}

TEST_F(ChakraFile, RefusesDamagedCompressedFiles) {
  const std::string whole = gzip(trace({node(1, test::kCompute, {}, 5)}));
  EXPECT_THAT(refusal(whole.substr(0, whole.size() / 2)), HasSubstr("truncated"));
  std::string damaged = whole;
  damaged[whole.size() / 2] = static_cast<char>(~damaged[whole.size() / 2]);
  EXPECT_THAT(refusal(damaged), testing::AnyOf(HasSubstr("damaged"), HasSubstr("byte"), HasSubstr("no Chakra")));
}

TEST_F(ChakraFile, BoundsWhatAFileExpandsTo) {
  // 64 MiB of zeros take 64 kB.
  const std::string bomb = gzip(std::string(64U << 20, '\0'));
  EXPECT_LT(bomb.size(), 200'000U);
  ByteSource source(file(bomb), 1U << 20);
  std::string buffer(1U << 16, ' ');
  const auto drain = [&] {
    while (source.read(buffer.data(), buffer.size()) > 0) {
    }
  };
  EXPECT_THAT([&] { drain(); }, testing::Throws<InputError>(testing::Property(
                                    &InputError::what, HasSubstr("is larger than 1 MiB decompressed"))));
}

TEST_F(ChakraFile, ReadsWhatItWrites) {
  ChakraNode out;
  out.id = 7;
  out.name = "all_reduce";
  out.type = 7;
  out.data = {1, 2, 300};
  out.duration_us = 12;
  out.attributes = {{"comm_size", std::int64_t{1} << 40},
                    {"pg_name", std::string("tensor")},
                    {"is_cpu_op", false},
                    {"exact_duration_us", 12.25}};
  const auto path = folder_ / "w.et";
  ChakraWriter writer(path, {"0.0.4", {{"schema", std::string("x")}}});
  writer.write(out);
  writer.commit();
  ChakraReader reader(path);
  EXPECT_EQ(reader.metadata().version, "0.0.4");
  ChakraNode in;
  ASSERT_TRUE(reader.next(in));
  EXPECT_EQ(in.id, out.id);
  EXPECT_EQ(in.name, out.name);
  EXPECT_EQ(in.data, out.data);
  EXPECT_EQ(find_attribute(in.attributes, "comm_size")->integer(), std::int64_t{1} << 40);
  EXPECT_EQ(find_attribute(in.attributes, "exact_duration_us")->number(), 12.25);
  EXPECT_FALSE(reader.next(in));
}

TEST_F(ChakraFile, SaysThatAFileIsJson) {
  const std::string json = R"({"schema": "1.0.2-chakra.0.0.4", "pid": 1, "nodes": [{"id": 1}]})";
  EXPECT_THAT(refusal(json), HasSubstr("is JSON, no Chakra trace in protobuf"));
  EXPECT_THAT(refusal(json + std::string(400, ' ')), HasSubstr("is JSON"));
}

}  // namespace
}  // namespace stepcast::chakra_file_test
