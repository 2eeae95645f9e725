#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fields/json_text.hpp"

namespace stepcast {

/// What a client asks of the worker: one JSON object on one line (docs/formats/worker-protocol.md).
struct Request {
  enum class Command { run, share, flows, step, ping };
  Json id;  ///< text or number of the client's choice; comes back in the reply
  Command command = Command::run;
  Json scenario;                        ///< the whole scenario document, overrides applied; of share: the jobs'
  std::string file;                     ///< how faults name the scenario
  std::vector<std::string> catalog;     ///< user directories, as Catalog::standard wants them
  std::optional<std::string> trace;     ///< file to write the trace to
  std::optional<std::string> progress;  ///< of run: file that says how far the simulation is
  bool detail = false;                  ///< of run: critical path and drawing of the step come along
  Json step;                            ///< of step: which step graph to run, and where (report/rank_run.hpp)
  Json program;                         ///< of flows: what to execute (sim/collective/flow_program.hpp)
};

/// What the worker answers: one of its members besides the id.
struct Reply {
  Json id;
  std::optional<Json> prediction;
  std::optional<Json> detail;  ///< beside the prediction, when asked for (report/step_detail.hpp)
  std::optional<Json> step;    ///< what came of a step graph
  std::optional<Json> flows;   ///< what came of a flow program
  std::vector<Fault> faults;   ///< of the scenario
  std::string error;           ///< the request was no request, or the simulation failed
  std::string version;         ///< answer to a ping
};

Json to_json(const Request& request);
Json to_json(const Reply& reply);

/// Throws std::runtime_error that says what is wrong with the message; an unknown key is.
Request request_from_json(const Json& message);
Reply reply_from_json(const Json& message);

/// A message as the line that carries it, newline included.
std::string line_of(const Json& message);

}  // namespace stepcast
