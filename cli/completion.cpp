#include "cli/completion.hpp"

#include <fmt/format.h>

#include <functional>

namespace stepcast {

namespace {

void each_command(const CommandNode& node, const std::function<void(const CommandNode&)>& visit) {
  visit(node);
  for (const CommandNode& below : node.commands) each_command(below, visit);
}

/// Words in single quotes; commands, options and choices have no quote in them.
std::string words(const std::vector<std::string>& list) { return fmt::format("'{}'", fmt::join(list, " ")); }

std::string path_tail(const std::string& path) {
  const std::size_t space = path.find(' ');
  return space == std::string::npos ? "" : path.substr(space + 1);
}

/// `case` branches that set `commands` and `options` of a path.
std::string words_of_paths(const CommandNode& program) {
  std::vector<std::string> global;
  for (const CommandOption& option : program.options)
    for (const std::string& name : option.names)
      if (!option.positional) global.push_back(name);
  std::string out;
  each_command(program, [&](const CommandNode& node) {
    std::vector<std::string> commands, options;
    for (const CommandNode& below : node.commands) commands.push_back(below.name);
    for (const CommandOption& option : node.options)
      for (const std::string& name : option.names)
        if (!option.positional) options.push_back(name);
    if (&node != &program)
      for (const std::string& name : global)
        if (std::find(options.begin(), options.end(), name) == options.end()) options.push_back(name);
    out += fmt::format("    '{}') commands={} options={} ;;\n", path_tail(node.path), words(commands), words(options));
  });
  return out;
}

/// `case` branches on path and previous option: what its value may be; options with a free value complete files.
std::string choices_of_options(const CommandNode& program) {
  std::string out;
  each_command(program, [&](const CommandNode& node) {
    for (const CommandOption& option : node.options) {
      if (option.positional || option.value.empty()) continue;
      std::vector<std::string> patterns;
      for (const std::string& name : option.names)
        // An option of the program itself may follow any command.
        patterns.push_back(&node == &program ? fmt::format("*':{}'", name)
                                             : fmt::format("'{}:{}'", path_tail(node.path), name));
      out += fmt::format("    {}) value=yes choices={} ;;\n", fmt::join(patterns, "|"), words(option.choices));
    }
  });
  return out;
}

/// What both shells share: `before` holds the words between the program's name and the cursor.
std::string table(const CommandNode& program) {
  return fmt::format(R"(  local path='' commands='' options='' value='' choices='' word
  _{0}_words
  for word in "${{before[@]}}"; do
    case " $commands " in *" $word "*)
      path="${{path:+$path }}$word"
      _{0}_words
      ;;
    esac
  done
  case "$path:$previous" in
{1}  esac
)",
                     program.name, choices_of_options(program));
}

std::string words_function(const CommandNode& program) {
  return fmt::format(R"(# Sets commands and options, which the caller declares, of its path.
_{0}_words() {{
  case "$path" in
{1}  esac
}}
)",
                     program.name, words_of_paths(program));
}

}  // namespace

std::string bash_completion(const CommandNode& program) {
  return fmt::format(R"(# bash completion of {0}; printed by `{0} completion bash`
{1}
_{0}() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD - 1]}}"
  local before=("${{COMP_WORDS[@]:1:COMP_CWORD-1}}")
{2}  COMPREPLY=()
  if [ -n "$value" ]; then
    mapfile -t COMPREPLY < <(compgen -W "$choices" -- "$current")
  elif [[ "$current" == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
  else
    mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$current")
  fi
}}
complete -o default -F _{0} {0}
)",
                     program.name, words_function(program), table(program));
}

std::string zsh_completion(const CommandNode& program) {
  return fmt::format(R"(#compdef {0}
# zsh completion of {0}; printed by `{0} completion zsh`
{1}
_{0}() {{
  local previous="${{words[CURRENT-1]}}"
  local -a before=("${{(@)words[2,CURRENT-1]}}")
{2}  if [[ -n "$value" ]]; then
    if [[ -n "$choices" ]]; then compadd -- ${{=choices}}; else _files; fi
  elif [[ "${{words[CURRENT]}}" == -* ]]; then
    compadd -- ${{=options}}
  elif [[ -n "$commands" ]]; then
    compadd -- ${{=commands}}
  else
    _files
  fi
}}
_{0} "$@"
)",
                     program.name, words_function(program), table(program));
}

}  // namespace stepcast
