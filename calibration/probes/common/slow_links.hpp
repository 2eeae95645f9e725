#pragma once

#include "calibration/probes/common/result_file.hpp"

namespace stepcast::probes {

/// Warns of every pair of ends whose largest messages took more than 1.4 times what sound ones of their kind take (in
/// a host, or between hosts): a slow NIC, a wrong binding or a link that has fallen back. Needs four pairs of a kind.
void name_slow_links(ResultFile& file);

}  // namespace stepcast::probes
