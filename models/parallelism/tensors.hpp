#pragma once

#include <vector>

#include "models/parallelism/job.hpp"

namespace stepcast {

/// Elements of the tensors of one replica in their order of creation, as far as their shapes are known.
std::vector<double> tensors_of(const Job& job);

/// Elements that meet on the busiest of `devices` over a device's even share (≥ 1), where each tensor is summed on one
/// device: dealt out from the largest, each to the device that has least so far. MXNet's comm.h, InitMergeBuffer.
double busiest_owner(std::vector<double> tensors, int devices);

}  // namespace stepcast
