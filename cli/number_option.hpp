#pragma once

#include <CLI/CLI.hpp>

namespace stepcast {

/// What an option that takes a whole number accepts, and what it says of anything else: "found \"2.5\", expected a
/// whole number from 1 to 1000".
CLI::Validator whole_number(long least, long most);

/// Seeds are whole in files of JSON, too (run.seed).
inline constexpr long kMostSeed = 9'000'000'000'000'000;

/// The same of any number.
CLI::Validator number_between(double least, double most);
/// Any finite number above 0.
CLI::Validator number_above_zero();

}  // namespace stepcast
