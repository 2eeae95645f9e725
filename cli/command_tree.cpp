#include "cli/command_tree.hpp"

#include <CLI/CLI.hpp>

namespace stepcast {

namespace {

/// CLI11 appends what a validator allows to the name of a value: TEXT:{simulated,analytic}.
void split_value(const std::string& type, CommandOption& out) {
  const std::size_t brace = type.find(":{");
  out.value = type.substr(0, brace);
  if (brace == std::string::npos) return;
  const std::size_t end = type.find('}', brace);
  const std::string inside = type.substr(brace + 2, end - brace - 2);
  std::size_t from = 0;
  while (from <= inside.size()) {
    const std::size_t comma = std::min(inside.find(',', from), inside.size());
    out.choices.push_back(inside.substr(from, comma - from));
    from = comma + 1;
  }
}

CommandOption option_of(const CLI::Option& option) {
  CommandOption out;
  out.positional = option.get_positional();
  if (out.positional) {
    out.names = {option.get_name(true)};
  } else {
    for (const std::string& name : option.get_snames()) out.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) out.names.push_back("--" + name);
  }
  if (option.get_items_expected_max() > 0) split_value(option.get_type_name(), out);
  out.description = option.get_description();
  out.required = option.get_required();
  out.repeatable = option.get_items_expected_max() > 1;
  return out;
}

}  // namespace

CommandNode command_tree(const CLI::App& app, const std::string& parent_path) {
  CommandNode out;
  out.name = app.get_name();
  out.path = parent_path.empty() ? out.name : parent_path + " " + out.name;
  out.description = app.get_description();
  out.footer = app.get_footer();
  for (const CLI::Option* option : app.get_options()) out.options.push_back(option_of(*option));
  for (const CLI::App* command : app.get_subcommands({})) out.commands.push_back(command_tree(*command, out.path));
  return out;
}

}  // namespace stepcast
