#include "cli/byte_sizes.hpp"

#include <gtest/gtest.h>

#include "fields/diagnostics.hpp"

namespace stepcast::byte_sizes_test {
namespace {

std::vector<double> sizes(std::string_view text) {
  std::vector<double> out;
  for (const Bytes size : parse_byte_sizes(text)) out.push_back(size.value());
  return out;
}

TEST(ByteSizes, CountInPowersOf1024) {
  EXPECT_EQ(sizes("8,1K,1KiB,2M,1g,1.5K,7B"), (std::vector<double>{8, 1024, 1024, 2097152, 1073741824, 1536, 7}));
}

TEST(ByteSizes, RangesDoubleGrowByAFactorOrByADifference) {
  EXPECT_EQ(sizes("1K:8K"), (std::vector<double>{1024, 2048, 4096, 8192}));
  EXPECT_EQ(sizes("8:1K*4"), (std::vector<double>{8, 32, 128, 512}));
  EXPECT_EQ(sizes("1M:3M+1M"), (std::vector<double>{1048576, 2097152, 3145728}));
  EXPECT_EQ(sizes("5:5"), (std::vector<double>{5}));
  EXPECT_EQ(sizes("1K:16G").size(), 25U);
  EXPECT_EQ(sizes("4,1K:2K,9"), (std::vector<double>{4, 1024, 2048, 9}));
}

TEST(ByteSizes, RefuseEverythingElse) {
  for (const char* text : {"",      ",",     "1K,",     "K",       "1KB",       "-1",     "0",       "0.5", "1.5",
                           "2M:1M", "1:2:3", "1K:2K*1", "1K:2K*x", "1K:2K*1.5", "1K:2K+", "1K:2K+0", "nan", "inf",
                           "1e3",   "2000T", "1:1G+1",  "1X",      " 1K",       "0x10",   "1K:",     ":1K"}) {
    EXPECT_THROW(parse_byte_sizes(text), InputError) << text;
  }
}

}  // namespace
}  // namespace stepcast::byte_sizes_test
