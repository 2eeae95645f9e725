#pragma once

#include <string>

#include "units/quantity.hpp"

namespace stepcast {

/// A whole number with thousands separators.
std::string whole(long number);

/// Three significant digits with thousands separators and no exponent.
std::string significant(double number);

/// "$0.00000634", "$0.42", "$1,240", "$4.6 M"
std::string humane(Dollars money);

/// The same to the digit, as a price stands in a list: "$0.148", "$98.32", "$270", "$515,410".
std::string price_text(Dollars price);

}  // namespace stepcast
