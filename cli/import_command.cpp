#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/commands.hpp"
#include "cli/import_kinds.hpp"

namespace stepcast {

const std::vector<ImportKind>& import_kinds() {
  static const std::vector<ImportKind> kinds{
      {"nccl-topology", "Node from the XML of NCCL_TOPO_FILE or NCCL_TOPO_DUMP_FILE", "XML file", 1,
       prepare_nccl_topology},
  };
  return kinds;
}

namespace {

namespace fs = std::filesystem;

/// A directory given as output gets the file under the name that a catalogue expects it by.
fs::path target_of(const fs::path& out, const Imported& imported) {
  std::error_code error;
  if (!fs::is_directory(out, error)) return out;
  const fs::path file = out / imported.name;
  fs::create_directories(file.parent_path(), error);
  if (error) throw InputError({{file.parent_path().string(), "", "cannot be made: " + error.message(), ""}});
  return file;
}

void finish(Session& session, const ImportRequest& request, const Imported& imported) {
  if (request.out.empty()) {
    session.print(imported.document);
    for (const std::string& note : imported.notes) std::fputs(("note: " + note + "\n").c_str(), stderr);
    return;
  }
  const fs::path file = target_of(request.out, imported);
  write_file(file, imported.document.dump(2) + "\n");
  if (session.json) return session.print(Json{{"file", file.string()}, {"notes", imported.notes}});
  std::string text = fmt::format("{}: {}\n", file.string(), imported.summary);
  for (const std::string& note : imported.notes) text += "  note: " + note + "\n";
  session.print(text);
}

void add_kind(CLI::App& import, const ImportKind& kind, Session& session) {
  CLI::App* app = import.add_subcommand(std::string(kind.name), std::string(kind.help));
  auto request = std::make_shared<ImportRequest>();
  app->add_option("files", request->files, std::string(kind.files))
      ->required()
      ->expected(1, kind.most_files)
      ->type_name("FILE");
  app->add_option("-o,--output", request->out,
                  "Write this file, whole or not at all; a directory gets the file below it. Without: standard output")
      ->type_name("OUT")
      ->check([](const std::string& name) { return name.empty() ? "expected the name of a file" : std::string(); }, "");
  app->callback(
      [action = kind.prepare(*app), request, &session] { finish(session, *request, action(session, *request)); });
}

}  // namespace

void add_import(CLI::App& app, Session& session) {
  CLI::App* import =
      app.add_subcommand("import", "Turn files of other programs into nodes, fabrics, scenarios and graphs");
  import->require_subcommand(1);
  import->fallthrough();
  for (const ImportKind& kind : import_kinds()) add_kind(*import, kind, session);
}

}  // namespace stepcast
