#include "sim/protocol/messages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <stdexcept>
#include <string_view>

namespace stepcast {

namespace {

void want_object(const Json& message, std::initializer_list<std::string_view> keys) {
  if (!message.is_object()) throw std::runtime_error(fmt::format("found {}, expected an object", describe(message)));
  for (const auto& [key, value] : message.items())
    if (std::find(keys.begin(), keys.end(), key) == keys.end())
      throw std::runtime_error(fmt::format("unknown key \"{}\"", key));
}

std::string text_at(const Json& message, const char* key, std::string otherwise = {}) {
  const auto found = message.find(key);
  if (found == message.end()) return otherwise;
  if (!found->is_string())
    throw std::runtime_error(fmt::format("\"{}\": found {}, expected a string", key, describe(*found)));
  return found->get<std::string>();
}

Json id_of(const Json& message) {
  const auto found = message.find("id");
  if (found == message.end()) return nullptr;
  if (!found->is_string() && !found->is_number() && !found->is_null())
    throw std::runtime_error(fmt::format("\"id\": found {}, expected a string or a number", describe(*found)));
  return *found;
}

Request::Command command_of(const Json& message) {
  const std::string name = text_at(message, "command");
  if (name == "run") return Request::Command::run;
  if (name == "share") return Request::Command::share;
  if (name == "flows") return Request::Command::flows;
  if (name == "step") return Request::Command::step;
  if (name == "ping") return Request::Command::ping;
  throw std::runtime_error(
      fmt::format("\"command\": found \"{}\", expected \"run\", \"share\", \"flows\", \"step\" or \"ping\"", name));
}

const char* name_of_command(Request::Command command) {
  switch (command) {
    case Request::Command::run:
      return "run";
    case Request::Command::share:
      return "share";
    case Request::Command::flows:
      return "flows";
    case Request::Command::step:
      return "step";
    case Request::Command::ping:
      break;
  }
  return "ping";
}

}  // namespace

Json to_json(const Request& request) {
  Json out{{"id", request.id}, {"command", name_of_command(request.command)}};
  if (request.command == Request::Command::flows) out["program"] = request.program;
  if (request.command == Request::Command::ping || request.command == Request::Command::flows) return out;
  if (request.command == Request::Command::step) {
    out["step"] = request.step;
  } else {
    out["scenario"] = request.scenario;
    out["file"] = request.file;
  }
  if (!request.catalog.empty()) out["catalog"] = request.catalog;
  if (request.trace) out["trace"] = *request.trace;
  if (request.progress) out["progress"] = *request.progress;
  if (request.detail) out["detail"] = true;
  return out;
}

Json to_json(const Reply& reply) {
  Json out{{"id", reply.id}};
  if (reply.prediction) out["prediction"] = *reply.prediction;
  if (reply.detail) out["detail"] = *reply.detail;
  if (reply.step) out["step"] = *reply.step;
  if (reply.flows) out["flows"] = *reply.flows;
  if (!reply.faults.empty()) {
    Json faults = Json::array();
    for (const Fault& fault : reply.faults)
      faults.push_back({{"file", fault.file},
                        {"pointer", fault.pointer},
                        {"message", fault.message},
                        {"suggestion", fault.suggestion}});
    out["faults"] = std::move(faults);
  }
  if (!reply.error.empty()) out["error"] = reply.error;
  if (!reply.version.empty()) out["version"] = reply.version;
  return out;
}

Request request_from_json(const Json& message) {
  want_object(message,
              {"id", "command", "scenario", "file", "catalog", "trace", "progress", "detail", "program", "step"});
  Request request;
  request.id = id_of(message);
  request.command = command_of(message);
  if (request.command == Request::Command::ping) return request;
  if (request.command == Request::Command::flows) {
    if (!message.contains("program")) throw std::runtime_error("\"program\" is missing");
    request.program = message.at("program");
    return request;
  }
  const bool runs_step = request.command == Request::Command::step;
  if (runs_step && !message.contains("step")) throw std::runtime_error("\"step\" is missing");
  if (runs_step) request.step = message.at("step");
  if (!runs_step && !message.contains("scenario")) throw std::runtime_error("\"scenario\" is missing");
  if (!runs_step) request.scenario = message.at("scenario");
  request.file = text_at(message, "file", "scenario");
  if (const auto directories = message.find("catalog"); directories != message.end()) {
    const bool texts = directories->is_array() && std::all_of(directories->begin(), directories->end(),
                                                              [](const Json& d) { return d.is_string(); });
    if (!texts) throw std::runtime_error("\"catalog\": expected an array of directories");
    request.catalog = directories->get<std::vector<std::string>>();
  }
  if (message.contains("trace")) request.trace = text_at(message, "trace");
  if (message.contains("progress")) request.progress = text_at(message, "progress");
  if (const auto detail = message.find("detail"); detail != message.end()) {
    if (!detail->is_boolean())
      throw std::runtime_error(fmt::format("\"detail\": found {}, expected true or false", describe(*detail)));
    request.detail = detail->get<bool>();
  }
  return request;
}

Reply reply_from_json(const Json& message) {
  want_object(message, {"id", "prediction", "detail", "step", "flows", "faults", "error", "version"});
  Reply reply;
  reply.id = id_of(message);
  if (message.contains("prediction")) reply.prediction = message.at("prediction");
  if (message.contains("detail")) reply.detail = message.at("detail");
  if (message.contains("step")) reply.step = message.at("step");
  if (message.contains("flows")) reply.flows = message.at("flows");
  if (message.contains("faults"))
    for (const Json& fault : message.at("faults")) {
      want_object(fault, {"file", "pointer", "message", "suggestion"});
      reply.faults.push_back(
          {text_at(fault, "file"), text_at(fault, "pointer"), text_at(fault, "message"), text_at(fault, "suggestion")});
    }
  reply.error = text_at(message, "error");
  reply.version = text_at(message, "version");
  return reply;
}

std::string line_of(const Json& message) {
  // Text that is not UTF-8 (file names can be anything) must not make a reply impossible.
  return message.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace stepcast
