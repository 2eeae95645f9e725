#pragma once

#include <memory>
#include <utility>

#include "hardware-catalog/communication_profiles.hpp"
#include "models/frameworks/framework.hpp"
#include "models/scenario/scenario.hpp"

namespace stepcast {

/// A scenario whose hardware can be changed figure by figure. A part is copied when it is first asked for, so that the
/// catalogue stays as it is. May not be moved.
class ChangedScenario {
 public:
  explicit ChangedScenario(Scenario scenario) : scenario_(std::move(scenario)) {}
  ChangedScenario(const ChangedScenario&) = delete;
  ChangedScenario& operator=(const ChangedScenario&) = delete;

  /// Null where the scenario has no such part.
  Accelerator* accelerator() { return own(accelerator_, scenario_.accelerator); }
  Cpu* cpu() { return own(cpu_, scenario_.cpu); }
  Node* node() { return own(node_, scenario_.node); }
  Node* server_node() { return own(server_node_, scenario_.server_node); }
  ComputeProfile* compute() { return own(compute_, scenario_.compute); }
  LinkProfile* links() { return own(links_, scenario_.link_profile); }
  NetworkProfile* network() { return own(network_, scenario_.network_profile); }
  StoragePart* storage() { return own(storage_, scenario_.storage); }
  StoragePart* local_drive() { return own(drive_, scenario_.local_drive); }
  FrameworkProfile* framework() {
    if (!framework_) {
      framework_ = std::make_shared<FrameworkProfile>(*scenario_.framework);
      scenario_.framework = framework_;
    }
    return framework_.get();
  }
  Scenario& scenario() { return scenario_; }

 private:
  template <class Part>
  Part* own(std::unique_ptr<Part>& copy, const Part*& shown) {
    if (!shown) return nullptr;
    if (!copy) {
      copy = std::make_unique<Part>(*shown);
      shown = copy.get();
    }
    return copy.get();
  }

  Scenario scenario_;
  std::unique_ptr<Accelerator> accelerator_;
  std::unique_ptr<Cpu> cpu_;
  std::unique_ptr<Node> node_, server_node_;
  std::unique_ptr<ComputeProfile> compute_;
  std::unique_ptr<LinkProfile> links_;
  std::unique_ptr<NetworkProfile> network_;
  std::unique_ptr<StoragePart> storage_, drive_;
  std::shared_ptr<FrameworkProfile> framework_;
};

}  // namespace stepcast
