#include "models/parallelism/merged_passes.hpp"

#include <algorithm>
#include <optional>
#include <span>

namespace stepcast {

namespace {

using Pieces = std::span<const Piece>;

bool exchanges_tokens(const Piece& piece) { return piece.communication && piece.dimension == Dimension::expert; }

/// A pass between its exchanges of tokens.
struct Parts {
  Pieces before, between, after;
  const Piece* first = nullptr;
  const Piece* second = nullptr;
};

/// Null for a pass with fewer or more exchanges than two.
std::optional<Parts> parts_of(Pieces pieces) {
  if (std::count_if(pieces.begin(), pieces.end(), exchanges_tokens) != 2) return std::nullopt;
  const auto first = std::find_if(pieces.begin(), pieces.end(), exchanges_tokens);
  const auto second = std::find_if(first + 1, pieces.end(), exchanges_tokens);
  const auto at = [&](auto piece) { return static_cast<std::size_t>(piece - pieces.begin()); };
  return Parts{pieces.first(at(first)), pieces.subspan(at(first) + 1, at(second) - at(first) - 1),
               pieces.subspan(at(second) + 1), &*first, &*second};
}

class Merger {
 public:
  explicit Merger(double slowdown) : slowdown_(slowdown) {}

  void add(const Piece& piece) {
    out_.pieces.push_back(piece);
    (piece.communication ? out_.communication : out_.compute) += piece.duration;
    out_.flops += piece.flops;
  }
  void add(Pieces pieces) {
    for (const Piece& piece : pieces) add(piece);
  }

  /// An exchange, and what runs beside it.
  void add_beside(Piece exchange, std::initializer_list<Pieces> work) {
    Seconds time;
    std::size_t pieces = 0;
    for (const Pieces part : work) {
      for (const Piece& piece : part) time += piece.duration;
      pieces += part.size();
    }
    const Seconds alone = exchange.duration;
    exchange.beside = static_cast<int>(pieces);
    exchange.duration = std::max(slowdown_ * alone, alone - time);
    exchange.hidden = alone - exchange.duration;
    add(exchange);
    for (const Pieces part : work) add(part);
  }

  Segment take() { return std::move(out_); }

 private:
  double slowdown_;
  Segment out_;
};

}  // namespace

Segment merged_passes(const LayerCost& forward, const LayerCost& backward, double slowdown) {
  const Pieces weights(backward.backward_weight.pieces);
  const std::optional<Parts> f = parts_of(forward.forward.pieces);
  const std::optional<Parts> b = parts_of(backward.backward_input.pieces);
  Merger out(slowdown);
  if (!f || !b) {
    for (const Pieces part : {Pieces(forward.forward.pieces), Pieces(backward.backward_input.pieces), weights})
      out.add(part);
    return out.take();
  }
  // The experts' own gradients are ready when their inputs' are; attention's are not yet.
  std::vector<Piece> of_experts;
  std::vector<Piece> others;
  for (const Piece& piece : weights) (piece.kind == OperatorKind::grouped_gemm ? of_experts : others).push_back(piece);
  out.add(b->before);
  out.add_beside(*b->first, {f->before});
  out.add_beside(*f->first, {b->between});
  out.add_beside(*b->second, {of_experts, f->between});
  out.add_beside(*f->second, {b->after, others});
  out.add(f->after);
  return out.take();
}

}  // namespace stepcast
