#pragma once

#include "cli/session.hpp"

namespace CLI {
class App;
}

namespace stepcast {

/// `stepcast explain` and `stepcast compare`.
void add_explain(CLI::App& app, Session& session);
void add_compare(CLI::App& app, Session& session);

}  // namespace stepcast
