#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/commands.hpp"
#include "models/frameworks/framework.hpp"
#include "report/humane.hpp"

namespace stepcast {

namespace {

std::shared_ptr<const FrameworkProfile> require_framework(const std::string& id) {
  Diagnostics diagnostics("stepcast frameworks");
  std::shared_ptr<const FrameworkProfile> framework = find_framework(id, "", diagnostics);
  diagnostics.throw_if_faulty();
  return framework;
}

std::string joined(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, ", ")); }

void list(Session& session) {
  Json all = Json::array();
  std::string text = fmt::format("{} {}  name\n", pad_right("id", 22), pad_right("sharding", 32));
  for (const std::string& id : framework_ids()) {
    const std::shared_ptr<const FrameworkProfile> framework = require_framework(id);
    all.push_back({{"id", id}, {"title", framework->title}, {"shardings", framework->shardings}});
    text +=
        fmt::format("{} {}  {}\n", pad_right(id, 22), pad_right(joined(framework->shardings), 32), framework->title);
  }
  if (session.json) return session.print(all);
  session.print(text);
}

}  // namespace

void add_frameworks(CLI::App& app, Session& session) {
  CLI::App* frameworks = app.add_subcommand("frameworks", "The framework profiles");
  frameworks->require_subcommand(1);
  frameworks->fallthrough();
  frameworks->add_subcommand("list", "Every profile")->callback([&session] { list(session); });
  auto id = std::make_shared<std::string>();
  CLI::App* show = frameworks->add_subcommand("show", "One profile as JSON, with its sources");
  show->add_option("id", *id, "Framework")->required();
  show->callback([id, &session] { session.print(FrameworkProfile::fields().write(*require_framework(*id))); });
}

}  // namespace stepcast
