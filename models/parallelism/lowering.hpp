#pragma once

#include <memory>

#include "models/parallelism/job.hpp"

namespace stepcast {

/// Lowers scenarios of one family, which share all but strategy and batch (ScenarioVariants), one after another:
/// device, links and, while nothing that they depend on changes, costed layers stay from one to the next. What comes
/// out is what lower() gives, bit for bit. Conditions and other kinds of nodes are for lower() alone.
class Lowering {
 public:
  Lowering();
  Lowering(const Lowering&) = delete;
  Lowering& operator=(const Lowering&) = delete;
  ~Lowering();

  /// Valid until the next call, and while the scenario is.
  const Job& lower(const Scenario& scenario);

 private:
  struct LayerInputs;
  struct Kept;
  std::unique_ptr<Kept> kept_;
};

}  // namespace stepcast
