#pragma once

#include "models/workload/model.hpp"

namespace stepcast::test {

/// A decoder that can be worked out by hand: two blocks, hidden 8, two heads of 4, MLP 16, ten words without positions,
/// sequences of 4.
inline Model tiny_model() {
  Model model;
  model.id = "tiny";
  model.default_seq_len = 4;
  TransformerShape& shape = model.transformer.emplace();
  shape.layers = 2;
  shape.hidden = 8;
  shape.ffn_hidden = 16;
  shape.heads = 2;
  shape.vocab = 10;
  shape.positions = PositionKind::none;
  return model;
}

}  // namespace stepcast::test
