#pragma once

#include <optional>

#include "hardware-catalog/catalog.hpp"

namespace stepcast {

/// What a switch costs whose price nobody states: ports × what a port costs at their rate, c·rate^e, by least squares
/// on the logarithms of the catalogue's switches of known price (the shipped ones: SB7800, QM8700 and QM9700, 333, 488
/// and 625 $ a port of 100, 200 and 400 Gb/s). Null where the switch's ports are unknown or fewer than two rates have
/// prices.
std::optional<Dollars> estimated_price(const SwitchPart& part, const Catalog& catalog);

/// The same for the power that it typically draws.
std::optional<Watts> estimated_power(const SwitchPart& part, const Catalog& catalog);

}  // namespace stepcast
