#include "models/parallelism/merged_passes.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace stepcast::merged_passes_test {
namespace {

Piece work(double seconds, OperatorKind kind = OperatorKind::gemm) {
  Piece piece;
  piece.kind = kind;
  piece.duration = Seconds(seconds);
  return piece;
}

Piece exchange(double seconds) {
  Piece piece = work(seconds);
  piece.communication = true;
  piece.collective = CollectiveKind::all_to_all;
  piece.dimension = Dimension::expert;
  return piece;
}

/// Attention 4 and 8, experts 5 and 6, weights of experts 4 and of attention 2, one piece before and one behind.
LayerCost layer(double exchanged) {
  LayerCost out;
  out.forward.pieces = {work(4), exchange(exchanged), work(5), exchange(exchanged), work(1)};
  out.backward_input.pieces = {work(2), exchange(exchanged), work(6), exchange(exchanged), work(8)};
  out.backward_weight.pieces = {work(2), work(4, OperatorKind::grouped_gemm)};
  return out;
}

double time_of(const std::vector<Piece>& pieces) {
  return std::accumulate(pieces.begin(), pieces.end(), 0.0,
                         [](double sum, const Piece& piece) { return sum + piece.duration.value(); });
}

constexpr double kSlowdown = 0.1;

// Beside enough work an exchange of 3 costs what it slows that down by: 0.3. 44 separately, 4 · 2.7 less merged.
TEST(MergedPasses, HideExchangesBehindTheOtherPass) {
  const Segment merged = merged_passes(layer(3), layer(3), kSlowdown);
  EXPECT_NEAR(time_of(merged.pieces), 44 - 4 * 2.7, 1e-12);
  EXPECT_NEAR(merged.total().value(), 44 - 4 * 2.7, 1e-12);
  EXPECT_NEAR(merged.communication.value(), 4 * 0.3, 1e-12);
}

// 12 beside the forward pass's attention (4), experts backward (6), weights and experts forward (9), attention backward
// with its weights (10): 8, 6, 3 and 2 stay.
TEST(MergedPasses, ExposeWhatIsLongerThanTheWorkBesideIt) {
  const Segment merged = merged_passes(layer(12), layer(12), kSlowdown);
  EXPECT_NEAR(merged.communication.value(), 8 + 6 + 3 + 2, 1e-12);
  EXPECT_NEAR(merged.compute.value(), 16 + 16, 1e-12);
}

TEST(MergedPasses, SayWhichPiecesAnExchangeRunsBeside) {
  const Segment merged = merged_passes(layer(3), layer(3), kSlowdown);
  std::vector<int> beside;
  for (const Piece& piece : merged.pieces)
    if (piece.communication) beside.push_back(piece.beside);
  EXPECT_EQ(beside, (std::vector{1, 1, 2, 2}));
}

TEST(MergedPasses, FollowEachOtherWithoutExchanges) {
  LayerCost dense = layer(3);
  std::erase_if(dense.forward.pieces, [](const Piece& piece) { return piece.communication; });
  const Segment merged = merged_passes(dense, layer(3), kSlowdown);
  EXPECT_NEAR(time_of(merged.pieces), 10 + 22 + 6, 1e-12);
}

}  // namespace
}  // namespace stepcast::merged_passes_test
