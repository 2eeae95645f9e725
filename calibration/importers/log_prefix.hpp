#pragma once

#include <string>
#include <string_view>

namespace stepcast {

/// What launchers and collectors of logs print before each line of a program: `[1,0]<stdout>:` of `mpirun
/// --tag-output`, `0: ` of `srun -l`, a host, a container, a time. It is learnt from a line whose own beginning is
/// known; other lines have the same but for its numbers.
class LogPrefix {
 public:
  /// Takes what stands before a known beginning; blanks at its end count as the line's.
  void learn(std::string_view before);

  /// The line without the prefix and without blanks around it; one that does not begin so loses the blanks only.
  [[nodiscard]] std::string_view strip(std::string_view line) const;

 private:
  std::string prefix_;
};

}  // namespace stepcast
