#pragma once

#include <QString>
#include <string>
#include <vector>

#include "gui/view-models/figure_table.hpp"

namespace stepcast {

class Catalog;

/// A server as the list shows it.
struct ServerRow {
  std::string id;
  QString accelerator;  ///< catalogue id; empty: processors train
  int accelerators = 0;
  double memory_GB = 0;     ///< of one accelerator, or of the host
  double usd_per_h = 0;     ///< on demand; 0: unknown
  double usd_purchase = 0;  ///< 0: unknown
  std::vector<FigureCell> cells;
};

/// What the user asks of servers. Zero and empty: anything.
struct ServerFilter {
  QString words;        ///< each has to occur in the row
  QString accelerator;  ///< catalogue id
  double least_memory_GB = 0;
  double most_usd_per_h = 0;
  bool priced_only = false;
};

/// Every server of the catalogue that can be read; a faulty entry of the user's own is left out.
std::vector<ServerRow> server_rows(const Catalog& catalog);
QStringList server_headings();
bool passes(const ServerRow& row, const ServerFilter& filter);

/// The specification card of a server as HTML: every figure with unit, evidence and source, then its accelerator's and
/// processor's.
QString server_card(const Catalog& catalog, const std::string& id);

}  // namespace stepcast
