#include "calibration/importers/models/argument_list.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

#include "calibration/importers/models/config_reader.hpp"
#include "calibration/importers/models/shell_tokens.hpp"
#include "calibration/importers/text_file.hpp"

namespace stepcast {

namespace {

bool is_option(std::string_view word) { return word.size() > 2 && word.starts_with("--"); }

std::string name_of(std::string_view option) { return std::string(option.substr(0, option.find_first_of("=:"))); }

/// Commands that only show what another gets.
bool is_shown(std::string_view command) { return command == "echo" || command == "printf"; }

/// `>`, `2>&1`, `<in`: not a command's words.
bool is_redirection(std::string_view word) {
  const std::size_t sign = word.find_first_not_of("0123456789&");
  return sign != std::string_view::npos && (word[sign] == '>' || word[sign] == '<');
}

bool runs_python(const ShellPiece& piece, std::string_view marks) {
  const auto& words = piece.words;
  const auto any = [&](const auto& is) { return std::any_of(words.begin(), words.end(), is); };
  if (words.empty() || is_shown(words.front())) return false;
  return piece.command && any([](std::string_view word) { return word.ends_with(".py"); }) &&
         any([&](std::string_view word) { return is_option(word) && name_of(word) == marks; });
}

/// `220_000_000`, as Python reads it.
std::string without_underscores(std::string text) {
  if (!text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) != 0) std::erase(text, '_');
  return text;
}

/// What the head of a batch script asks for, and the variables in which Slurm tells it to the job (sbatch(1)).
struct SlurmRequest {
  std::string_view option, letter, variable, same;
};
constexpr std::array kSlurmRequests{SlurmRequest{"--nodes", "-N", "SLURM_NNODES", "SLURM_JOB_NUM_NODES"},
                                    SlurmRequest{"--ntasks", "-n", "SLURM_NTASKS", "SLURM_NPROCS"},
                                    SlurmRequest{"--ntasks-per-node", "", "SLURM_NTASKS_PER_NODE", ""},
                                    SlurmRequest{"--gpus-per-node", "", "SLURM_GPUS_PER_NODE", "SLURM_GPUS_ON_NODE"}};

/// What words of a line `#SBATCH …` say of one request; the last counts, and ranges say nothing.
void take_request(const SlurmRequest& request, const std::vector<std::string_view>& words, ShellValues& values) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    std::string_view value;
    if (words[i].starts_with(request.option) && words[i].substr(request.option.size()).starts_with('='))
      value = words[i].substr(request.option.size() + 1);
    const bool named = words[i] == request.option || (!request.letter.empty() && words[i] == request.letter);
    if (named && i + 1 < words.size()) value = words[i + 1];
    if (!whole_number(value)) continue;
    for (const std::string_view variable : {request.variable, request.same})
      if (!variable.empty()) values.assign(std::string(variable), std::string(value));
  }
}

/// Arguments and variables of a call, and those that Slurm sets.
ShellValues environment_of(std::string_view script, std::string_view call) {
  ShellValues out;
  int arguments = 0;
  for (const std::string& word : shell_arguments(call)) {
    const std::size_t equals = word.find('=');
    if (arguments == 0 && equals != std::string::npos && is_shell_name(word.substr(0, equals)))
      out.assign(word.substr(0, equals), word.substr(equals + 1));
    else
      out.assign(std::to_string(++arguments), word);
  }
  if (arguments > 0) out.assign("#", std::to_string(arguments));
  if (!call.empty()) out.close();
  for (const std::string_view line : lines_of(script)) {
    if (!line.starts_with("#SBATCH")) continue;
    const std::vector<std::string_view> words = words_of(line);
    for (const SlurmRequest& request : kSlurmRequests) take_request(request, words, out);
  }
  return out;
}

}  // namespace

ArgumentList::ArgumentList(std::string_view text, std::string_view call, std::string_view marks,
                           Diagnostics& diagnostics)
    : diagnostics_(diagnostics), script_(follow_shell_script(text, environment_of(text, call))) {
  for (ShellPiece& piece : script_.pieces) piece.words = final_words(piece.words);
  if (script_.values.exhausted())
    diagnostics_.error("", "the script's variables come to more than 16 MiB", "a script that passes arguments");
  gather(marks);
  take_flags();
}

std::vector<std::string> ArgumentList::final_words(const std::vector<std::string>& words) {
  std::vector<std::string> out;
  for (const std::string& word : words)
    for (std::string& one : shell_arguments(script_.values.resolved(word))) out.push_back(std::move(one));
  return out;
}

void ArgumentList::gather(std::string_view marks) {
  const auto marked = [&](const ShellPiece& piece) { return runs_python(piece, marks); };
  commands_ = static_cast<int>(std::count_if(script_.pieces.begin(), script_.pieces.end(), marked));
  const auto last = std::find_if(script_.pieces.rbegin(), script_.pieces.rend(), marked);
  std::string option;
  if (last != script_.pieces.rend()) {
    add_options(last->words, option);
    for (const ShellPiece& piece : script_.pieces)
      for (const std::string& word : piece.words)
        if (!piece.command && is_option(word) && !options_.contains(name_of(word))) elsewhere_.insert(name_of(word));
    return;
  }
  for (const ShellPiece& piece : script_.pieces) {
    if (!piece.command) option.clear();
    add_options(piece.words, option);  // of a plain list the values may stand on lines of their own
    if (!piece.command) option.clear();
  }
}

void ArgumentList::add_options(const std::vector<std::string>& words, std::string& option) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (is_redirection(word)) {
      if (word.back() == '>' || word.back() == '<') ++i;  // the file's name
      continue;
    }
    if (!is_option(word)) {
      add_value(option, word);
      continue;
    }
    option = name_of(word);
    std::vector<std::string>& values = options_[option];
    values.clear();  // the last one counts
    if (word.ends_with(':')) of_yaml_.insert(option);
    if (const std::size_t equals = word.find('='); equals != std::string::npos)
      values.push_back(word.substr(equals + 1));
  }
}

void ArgumentList::take_flags() {
  for (const std::string& option : of_yaml_) {
    std::vector<std::string>& values = options_[option];
    if (values.empty()) continue;
    if (values[0] == "true")
      values.clear();
    else if (values[0] == "false" || values[0] == "null")
      options_.erase(option);
  }
}

void ArgumentList::add_value(const std::string& option, std::string word) {
  // Behind a value, or before every option, there are only lists of options and paths.
  const bool list = option.empty() || !options_[option].empty();
  if (list && word.starts_with('$') && is_unknown(word)) {
    if (word.find('/') != std::string::npos) return;
    if (std::find(unset_.begin(), unset_.end(), word) == unset_.end()) unset_.push_back(std::move(word));
  } else if (!option.empty()) {
    options_[option].push_back(std::move(word));
  }
}

bool ArgumentList::has(const std::string& option) {
  known_[option] = true;
  return options_.contains(option);
}

bool ArgumentList::denies(const std::string& option) const {
  return of_yaml_.contains(option) && !options_.contains(option);
}

std::vector<std::string> ArgumentList::values(const std::string& option) {
  if (!has(option)) return {};
  return options_.at(option);
}

std::string ArgumentList::text(const std::string& option) {
  const std::vector<std::string> found = values(option);
  if (has(option) && found.empty()) diagnostics_.error("", fmt::format("{} has no value", option));
  return found.empty() ? std::string() : found[0];
}

std::optional<double> ArgumentList::number(const std::string& option) {
  if (!has(option)) return std::nullopt;
  const std::string value = without_underscores(text(option));
  double out = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), out);
  if (error != std::errc() || end != value.data() + value.size() || !std::isfinite(out)) {
    diagnostics_.error("", fmt::format("{}: found {}, expected a number", option, shown(value)),
                       value.starts_with('$') ? kCallSaysIt : "");
    return std::nullopt;
  }
  return out;
}

std::optional<int> ArgumentList::whole(const std::string& option, int least) {
  const std::optional<double> value = number(option);
  if (!value) return std::nullopt;
  if (*value < least || *value > 2e9 || *value != std::floor(*value)) {
    diagnostics_.error("",
                       fmt::format("{}: found {:g}, expected a whole number of at least {}", option, *value, least));
    return std::nullopt;
  }
  return static_cast<int>(*value);
}

std::string ArgumentList::variable(const std::string& name) {
  const std::string* found = script_.values.find(name);
  return found ? script_.values.resolved(*found) : std::string();
}

bool ArgumentList::refuse_as(const std::string& wanted) {
  if (options_.contains(wanted)) return false;
  const auto bare = [](std::string_view option) {
    return option.substr(std::min(option.find_first_not_of('-'), option.size()));
  };
  for (const std::string& option : unknown()) {
    // Underscores are how Python writes the name.
    std::string written(bare(option));
    std::replace(written.begin(), written.end(), '_', '-');
    if (written != bare(wanted) && !is_slip(written, bare(wanted))) continue;
    diagnostics_.error("", fmt::format("{}: unknown option", option), fmt::format("did you mean {}?", wanted));
    known_.emplace(option, false);
    return true;
  }
  return false;
}

void ArgumentList::refuse_misspelt() {
  std::vector<std::string> wanted;
  for (const auto& [option, asked] : known_)
    if (asked) wanted.push_back(option);
  for (const std::string& option : wanted) refuse_as(option);
}

std::vector<std::string> ArgumentList::unknown() const {
  std::vector<std::string> out;
  for (const auto& [option, values] : options_)
    if (!known_.contains(option)) out.push_back(option);
  return out;
}

std::vector<std::string> ArgumentList::doubts() const {
  std::vector<std::string> out;
  const auto of_use = [&](const std::set<std::string>& names) {
    std::set<std::string> used;
    for (const std::string& name : names)
      if (known_.contains(name) ? options_.contains(name) : script_.values.read().contains(name)) used.insert(name);
    return fmt::format("{}", fmt::join(used, ", "));
  };
  for (const ShellDoubt& doubt : script_.doubts) {
    const std::string once = of_use(doubt.once), often = of_use(doubt.often);
    if (once.empty() && often.empty()) continue;
    if (doubt.rounds > 0) {
      out.push_back(fmt::format("line {}: of {} the first {} count{}", doubt.line, shown(doubt.condition),
                                doubt.rounds == 1 ? "round" : fmt::format("{} rounds", doubt.rounds),
                                doubt.rounds == 1 ? "s" : ""));
      continue;
    }
    std::string text = fmt::format("line {}: the script does not decide {}", doubt.line, shown(doubt.condition));
    if (!often.empty()) text += fmt::format("; of {}, set in several branches, the last counts", often);
    if (!once.empty()) text += fmt::format("; {} as if the branch were taken", once);
    out.push_back(std::move(text));
  }
  return out;
}

std::vector<std::string> ArgumentList::notes() const {
  std::vector<std::string> out = doubts();
  if (commands_ > 1) out.push_back(fmt::format("the script runs {} trainings; this is the last", commands_));
  if (!unset_.empty())
    out.push_back(fmt::format("not set in the script, taken to be empty: {}", fmt::join(unset_, ", ")));
  std::vector<std::string> unreached;
  for (const std::string& option : elsewhere_)
    if (known_.contains(option)) unreached.push_back(option);
  if (!unreached.empty())
    out.push_back(fmt::format("set, but no part of the command, not used: {}", fmt::join(unreached, ", ")));
  return out;
}

}  // namespace stepcast
