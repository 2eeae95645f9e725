#pragma once

#include <functional>
#include <string_view>

#include "sweeps/result_store.hpp"

namespace stepcast {

/// Writes a store's rows by point, piece by piece to `write`: the same rows give the same bytes, in whatever order and
/// however often interrupted they were computed. Figures carry 12 significant digits.
///
/// CSV: one header, empty cells for what is unknown. JSON lines: one flat object a line, null for what is unknown, the
/// same keys in every line, so that a column has one type.
enum class ExportFormat { csv, jsonl };
void export_store(const ResultStore& store, ExportFormat format, const std::function<void(std::string_view)>& write);

/// A row as the flat object of a JSON line: point, inputs, status, error, figures, provenance.
Json row_json(const ResultStore& store, const SweepRow& row);

}  // namespace stepcast
