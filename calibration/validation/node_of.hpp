#pragma once

#include <string_view>

namespace stepcast {

/// The server that stands for so many GPUs of a kind, where a table of runs names the GPUs alone.
struct NodeOf {
  std::string_view accelerator;
  long gpus;
  std::string_view node;   ///< id in the catalogue
  double power_cap_W = 0;  ///< at which its devices were held; 0: at none
};

}  // namespace stepcast
