#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/commands.hpp"
#include "cli/completion.hpp"
#include "cli/manual_page.hpp"
#include "fields/streamed_file.hpp"
#include "version.hpp"

namespace stepcast {

namespace {

void write_page(const std::filesystem::path& folder, const CommandNode& command) {
  std::string name = command.path + ".1";
  std::replace(name.begin(), name.end(), ' ', '-');
  StreamedFile file(folder / name);
  file.write(manual_page(command, std::string(kVersion)));
  file.commit();
}

/// A page of the program, and one of each command.
void write_manual(const std::filesystem::path& folder, const CommandNode& program) {
  write_page(folder, program);
  for (const CommandNode& command : program.commands) write_page(folder, command);
}

}  // namespace

void add_manual(CLI::App& app, Session& session) {
  auto shell = std::make_shared<std::string>();
  CLI::App* completion = app.add_subcommand("completion", "Print the completion of commands and options for a shell");
  completion->add_option("shell", *shell, "Which shell")->required()->check(CLI::IsMember({"bash", "zsh"}));
  completion->callback([shell, &app, &session] {
    const CommandNode program = command_tree(app);
    session.print(*shell == "bash" ? bash_completion(program) : zsh_completion(program));
  });

  auto folder = std::make_shared<std::string>();
  CLI::App* manual = app.add_subcommand("manual", "Write the manual pages: stepcast.1 and one of each command");
  manual->add_option("folder", *folder, "Folder to write them to")
      ->required()
      ->type_name("DIR")
      ->check(CLI::ExistingDirectory.description(""));
  manual->callback([folder, &app] { write_manual(*folder, command_tree(app)); });
}

}  // namespace stepcast
