#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/commands.hpp"
#include "models/workload/operators.hpp"
#include "report/humane.hpp"

namespace stepcast {

namespace {

std::shared_ptr<const Model> require_model(const std::string& id) {
  Diagnostics diagnostics("stepcast models");
  std::shared_ptr<const Model> model = find_model(id, "", diagnostics);
  diagnostics.throw_if_faulty();
  return model;
}

void list(Session& session) {
  Json all = Json::array();
  std::string text =
      fmt::format("{} {} {}  name\n", pad_right("id", 22), pad_right("family", 8), pad_left("parameters", 10));
  for (const std::string& id : model_ids()) {
    const std::shared_ptr<const Model> model = require_model(id);
    const double parameters = parameter_count(*model);
    all.push_back(
        {{"id", id}, {"title", model->title}, {"family", name_of(model->family)}, {"parameters", parameters}});
    text += fmt::format("{} {} {}  {}\n", pad_right(id, 22), pad_right(std::string(name_of(model->family)), 8),
                        pad_left(humane_count(parameters), 10), model->title);
  }
  if (session.json) return session.print(all);
  session.print(text);
}

}  // namespace

void add_models(CLI::App& app, Session& session) {
  CLI::App* models = app.add_subcommand("models", "The model presets");
  models->require_subcommand(1);
  models->fallthrough();
  models->add_subcommand("list", "Every preset with its number of parameters")->callback([&session] { list(session); });
  auto id = std::make_shared<std::string>();
  CLI::App* show = models->add_subcommand("show", "One preset as JSON, with its sources");
  show->add_option("id", *id, "Model")->required();
  show->callback([id, &session] { session.print(Model::fields().write(*require_model(*id))); });
}

}  // namespace stepcast
