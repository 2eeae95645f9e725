#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/scenario/scenario.hpp"

namespace stepcast {

/// One line of what has to be bought or rented.
struct BillLine {
  std::string item;  ///< "server", "switch (leaf)", "cable", "transceiver", "NIC", "accelerator" …
  std::string part;  ///< catalogue id, or what is known of it
  long count = 0;
  std::optional<Dollars> unit_price;
  bool included = false;  ///< in the line of the servers: named, not paid again
};

/// Servers with what is in them, and the network's switches, cables and transceivers, counted on its graph. Prices are
/// those of the terms in `cluster.cost`: stated ones first, and what is rented costs nothing to buy.
std::vector<BillLine> bill_of_materials(const Scenario& scenario, const Catalog& catalog);

/// What all of a bill's lines with a price cost to buy. Null where its servers have none.
std::optional<Dollars> price_to_buy(const std::vector<BillLine>& bill);

/// As CSV: item, part, count, unit_price_usd, price_usd, included_in_server.
std::string bill_csv(const std::vector<BillLine>& bill);

}  // namespace stepcast
