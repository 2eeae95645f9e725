#include "models/estimate/step_account.hpp"

namespace stepcast {

void StepAccount::add_replicas(CollectiveKind kind, Seconds total, Seconds exposed) {
  auto& share = communication(kind, Dimension::data);
  share.total += total / stages_;
  share.exposed += exposed;
}

void StepAccount::stretch_computation(Seconds by) {
  const Seconds sorted = step_.matrix_time + step_.memory_time;
  const double matrix = sorted > Seconds(0) ? step_.matrix_time / sorted : 1;
  step_.matrix_time += by * matrix;
  step_.memory_time += by * (1 - matrix);
  step_.compute += by;
}

}  // namespace stepcast
