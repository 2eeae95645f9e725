#include <cstdio>
#include <exception>

#include "hardware-catalog/catalog.hpp"
#include "models/scenario/scenario.hpp"
#include "report/predict.hpp"

// Prints how long a step of a scenario takes on 1, 2, 4 … times its nodes, in closed form.
int main(int count, char** arguments) {
  if (count != 2) {
    std::fputs("usage: forecast SCENARIO\n", stderr);
    return 2;
  }
  try {
    const stepcast::Catalog catalog = stepcast::Catalog::standard({});
    const stepcast::Scenario base = stepcast::load_scenario(arguments[1], {}, catalog);
    for (int nodes = base.spec.cluster.nodes; nodes <= 4 * base.spec.cluster.nodes; nodes *= 2) {
      const stepcast::Scenario scenario =
          stepcast::load_scenario(arguments[1], {"cluster.nodes=" + std::to_string(nodes)}, catalog);
      const stepcast::Prediction prediction = stepcast::predict_analytic(scenario, catalog);
      std::printf("%5d nodes  %8.3f s\n", nodes, prediction.step_time.value());
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "forecast: %s\n", error.what());
    return 2;
  }
  return 0;
}
