#pragma once

#include "calibration/fit/operators/operator_fit.hpp"

namespace stepcast {

/// All measured operators of one family of accelerators.
using FamilyRows = std::vector<const MeasuredOperator*>;

/// Fits every class of operators that the rows measure, in the order in which they rest on each other, into a profile
/// that may hold a sibling's constants to start from (few rows move few of them). Errors and rows go to the profile's
/// fit record.
void fit_products(const FamilyRows& rows, OperatorProfile& profile, const Catalog& catalog);
void fit_power(const FamilyRows& rows, OperatorProfile& profile, const Catalog& catalog);
void fit_attention(const FamilyRows& rows, OperatorProfile& profile, const Catalog& catalog);
void fit_streaming(const FamilyRows& rows, OperatorProfile& profile, const Catalog& catalog);
void fit_convolutions(const FamilyRows& rows, OperatorProfile& profile, const Catalog& catalog);

}  // namespace stepcast
