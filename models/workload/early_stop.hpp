#pragma once

#include <vector>

#include "models/workload/operators.hpp"

namespace stepcast {

/// Forward steps that full recomputation repeats where it stops at the last tensor that the backward pass reads
/// (PyTorch's checkpoint without re-entrance, from 2.1 on: pytorch/pytorch pull request 96866) or where a compiler
/// drops what nothing reads (XLA): all before the last product of a block, whose result only its successor reads; that
/// product too where a norm follows it.
/// Of experts, routing weighs their results, so all is repeated; so it is in blocks without products.
std::vector<LayerStep> steps_repeated_with_early_stop(const LayerWork& work);

/// The same of a part of a block that is recomputed on its own, without experts.
std::vector<LayerStep> steps_before_last_product(const std::vector<LayerStep>& all);

}  // namespace stepcast
