#include "cli/manual_page.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace stepcast {

namespace {

/// Text that roff prints as it is: backslashes, hyphens that are not line breaks, and lines that begin like a request.
std::string roff(const std::string& text) {
  std::string out;
  bool line_start = true;
  for (const char c : text) {
    if (line_start && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
    line_start = c == '\n';
  }
  return out;
}

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

std::string page_name(const std::string& path) {
  std::string out = path;
  std::replace(out.begin(), out.end(), ' ', '-');
  return out;
}

std::string value_words(const CommandOption& option) {
  if (option.choices.empty()) return option.value;
  return fmt::format("{}", fmt::join(option.choices, "|"));
}

std::string synopsis(const CommandNode& command) {
  std::string out = fmt::format(".B {}\n", roff(command.path));
  if (std::any_of(command.options.begin(), command.options.end(), [](const auto& o) { return !o.positional; }))
    out += ".RI [ options ]\n";
  for (const CommandOption& option : command.options)
    if (option.positional) {
      const char* dots = option.repeatable ? "..." : "";
      out += option.required ? fmt::format(".I {}{}\n", roff(option.names.front()), dots)
                             : fmt::format(".RI [ {}{} ]\n", roff(option.names.front()), dots);
    }
  if (!command.commands.empty()) out += ".I command\n";
  return out;
}

std::string options_of(const CommandNode& command) {
  std::string out;
  for (const CommandOption& option : command.options) {
    std::string tag;
    for (const std::string& name : option.names)
      tag += fmt::format("{}\\fB{}\\fR", tag.empty() ? "" : ", ", roff(name));
    if (!option.value.empty()) tag += fmt::format(" \\fI{}\\fR", roff(value_words(option)));
    out += fmt::format(".TP\n{}\n{}\n", tag, roff(option.description));
  }
  return out;
}

/// Text whose lines stay as they are.
std::string as_typed(const std::string& text) { return fmt::format(".nf\n{}\n.fi\n", roff(text)); }

/// Commands below a subcommand, each with its options.
std::string nested(const CommandNode& command) {
  std::string out;
  for (const CommandNode& below : command.commands) {
    out += fmt::format(".SS {}\n{}\n{}", roff(below.path), roff(below.description), options_of(below));
    if (!below.footer.empty()) out += as_typed(below.footer);
    out += nested(below);
  }
  return out;
}

std::string list_of_pages(const CommandNode& program) {
  std::string out;
  for (const CommandNode& command : program.commands)
    out += fmt::format(".TP\n.BR {} (1)\n{}\n", roff(page_name(command.path)), roff(command.description));
  return out;
}

}  // namespace

std::string manual_page(const CommandNode& command, const std::string& version) {
  const bool program = command.path.find(' ') == std::string::npos;
  std::string out =
      fmt::format(".TH {} 1 \"\" \"stepcast {}\" \"User Commands\"\n", upper(page_name(command.path)), version);
  out += fmt::format(".SH NAME\n{} \\- {}\n", roff(page_name(command.path)), roff(command.description));
  out += ".SH SYNOPSIS\n" + synopsis(command);
  if (!command.options.empty()) out += ".SH OPTIONS\n" + options_of(command);
  if (!command.commands.empty()) out += ".SH COMMANDS\n" + (program ? list_of_pages(command) : nested(command));
  if (!command.footer.empty()) out += ".SH NOTES\n" + as_typed(command.footer);
  if (!program) out += ".SH SEE ALSO\n.BR stepcast (1)\n";
  return out;
}

}  // namespace stepcast
