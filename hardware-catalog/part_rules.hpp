#pragma once

#include "fields/field_table.hpp"

/// Rules that many catalogue fields share.
namespace stepcast::part_rules {

inline Rules required() {
  Rules rules;
  rules.required = true;
  return rules;
}
inline Rules required(Rules rules) {
  rules.required = true;
  return rules;
}
inline Rules at_least(double least) {
  Rules rules;
  rules.min = least;
  return rules;
}
inline Rules positive() {
  Rules rules = at_least(0);
  rules.above_min = true;
  return rules;
}
inline Rules required_positive() {
  Rules rules = positive();
  rules.required = true;
  return rules;
}
inline Rules between(double least, double most) {
  Rules rules = at_least(least);
  rules.max = most;
  return rules;
}
inline Rules share() { return between(0, 1); }
inline Rules required_at_least(double least) {
  Rules rules = at_least(least);
  rules.required = true;
  return rules;
}
inline Rules required_within(double least, double most) {
  Rules rules = between(least, most);
  rules.required = true;
  return rules;
}
inline Rules required_share() {
  Rules rules = required_within(0, 1);
  rules.above_min = true;
  return rules;
}
inline Rules refers_to(std::string kind) {
  Rules rules;
  rules.refers_to = std::move(kind);
  return rules;
}
inline Rules a_year() { return between(0, 2100); }
/// A hundred watts for one that computes are no building's.
inline Rules a_pue() { return between(1, 100); }
/// Of one accelerator or processor, in W; wafers draw 23 kW.
inline Rules device_watts() { return between(1e-3, 1e5); }
inline Rules a_pcie_gen() { return between(0, 8); }
inline Rules a_pcie_lanes() { return between(0, 256); }

}  // namespace stepcast::part_rules
