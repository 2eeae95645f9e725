#pragma once

#include <vector>

#include "models/parallelism/job.hpp"

namespace stepcast {

/// What one pipeline stage's layers keep and use, gathered in one walk over them.
struct StageLayers {
  Bytes kept;                        ///< activations that wait for the backward pass, of every micro-batch in flight
  Bytes oldest;                      ///< of kept, those of one micro-batch in the chunk with the embedding
  Bytes offloaded;                   ///< the same, waiting in host memory
  Bytes fetched;                     ///< of offloaded blocks, what is on the device on its way out or back
  Bytes recomputed;                  ///< largest part of a layer that recomputation brings back
  Bytes gradients;                   ///< most gradients at once in a block's backward pass
  Bytes output_gradients;            ///< the same in the output layer
  Bytes message;                     ///< largest activation handed to another stage
  double largest_unit = 0;           ///< parameters that are gathered together (sharded parameters)
  double embedding = 0;              ///< parameters of the embedding
  double block_weights = 0;          ///< trained parameters of all layers but embedding and output
  double largest_weight = 0;         ///< elements of the largest weight matrix of a block
  double output_weight = 0;          ///< elements of the output layer's matrix
  std::vector<WeightShape> weights;  ///< of the blocks, each shape once
  bool has_output = false;
};

StageLayers stage_layers(const Job& job, int stage);

}  // namespace stepcast
