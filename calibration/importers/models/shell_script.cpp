#include "calibration/importers/models/shell_script.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "calibration/importers/models/shell_condition.hpp"
#include "calibration/importers/models/shell_output.hpp"
#include "calibration/importers/models/shell_tokens.hpp"
#include "calibration/importers/text_file.hpp"

namespace stepcast {

namespace {

constexpr int kMostCommands = 100'000;  ///< functions may call each other
constexpr int kDeepest = 64;            ///< of blocks and calls within each other
constexpr int kMostRounds = 10'000;     ///< of all loops together; those of scripts count layers

/// `name=` or `name+=`: the length of the name; 0 where a word is no assignment.
std::size_t assigned_name(std::string_view word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos || equals == 0) return 0;
  const std::size_t length = word[equals - 1] == '+' ? equals - 1 : equals;
  return is_shell_name(word.substr(0, length)) ? length : 0;
}

bool is_option(std::string_view word) { return word.size() > 2 && word.starts_with("--"); }

class Follower {
 public:
  Follower(std::string_view script, ShellValues values) : tokens_(shell_tokens(script)) {
    out_.values = std::move(values);
  }

  ShellOutcome follow() {
    while (at_ < tokens_.size()) {
      sequence(true);
      if (at_ < tokens_.size()) ++at_;  // what ends a block that nothing has begun
    }
    // A script may be sourced for its functions.
    for (const auto& [name, body] : std::map(functions_))
      if (!called_.contains(name)) call(name, {});
    return std::move(out_);
  }

 private:
  [[nodiscard]] bool ended() const { return at_ >= tokens_.size(); }
  [[nodiscard]] bool at_operator(std::string_view text) const {
    return !ended() && !tokens_[at_].word && tokens_[at_].text == text;
  }
  [[nodiscard]] bool at_word(std::string_view text) const {
    return !ended() && tokens_[at_].word && tokens_[at_].text == text;
  }
  bool take_word(std::string_view text) {
    if (!at_word(text)) return false;
    ++at_;
    return true;
  }
  void pass_lines() {
    while (at_operator("\n")) ++at_;
  }
  [[nodiscard]] bool ends_block() const {
    if (ended()) return true;
    static const std::set<std::string, std::less<>> words{"then", "else", "elif", "fi", "do", "done", "esac", "}"};
    const ShellToken& token = tokens_[at_];
    return token.word ? words.contains(token.text) : token.text == ";;" || token.text == ")";
  }

  /// Commands up to the end of their block; what the last one says.
  std::optional<bool> sequence(bool live) {
    std::optional<bool> status;
    while (!ends_block()) {
      if (tokens_[at_].word || at_operator("("))
        status = chain(live);
      else
        ++at_;
    }
    return status;
  }

  std::optional<bool> chain(bool live) {
    auto status = pipeline(live);
    while (at_operator("&&") || at_operator("||")) {
      const bool decides = tokens_[at_++].text == "||";  // what one side alone decides
      pass_lines();
      const bool runs = live && status != decides;
      const auto next = pipeline(runs);
      if (runs && (status || next == decides)) status = next;
    }
    return status;
  }

  std::optional<bool> pipeline(bool live) {
    auto status = command(live);
    while (at_operator("|")) {
      ++at_;
      pass_lines();
      status = command(live);
    }
    return status;
  }

  std::optional<bool> command(bool live) {
    bool holds = true;
    while (take_word("!")) holds = !holds;
    if (++depth_ > kDeepest) at_ = tokens_.size();
    const auto status = ended() ? std::nullopt : unsigned_command(live);
    --depth_;
    return status ? std::optional(*status == holds) : status;
  }

  std::optional<bool> unsigned_command(bool live) {
    if (take_word("if")) return conditional(live), std::nullopt;
    if (take_word("case")) return choice(live), std::nullopt;
    if (at_word("while") || at_word("until") || at_word("for") || at_word("select")) return loop(live), std::nullopt;
    if (take_word("{")) return block("}", live);
    if (at_operator("(")) {
      ++at_;
      const auto status = sequence(live);
      if (at_operator(")")) ++at_;
      return status;
    }
    if (take_word("function") || defines_function()) return function(), std::nullopt;
    return simple(live);
  }

  std::optional<bool> block(std::string_view end, bool live) {
    const auto status = sequence(live);
    take_word(end);
    return status;
  }

  // Branches.

  /// Runs a branch and counts what it sets among the names of the doubt.
  void branch(bool live, ShellDoubt& doubt) {
    const std::set<std::string> before = std::exchange(set_, {});
    sequence(live);
    for (const std::string& name : set_)
      if (!doubt.once.insert(name).second) doubt.often.insert(name);
    set_.insert(before.begin(), before.end());
  }

  void finish(ShellDoubt doubt) {
    for (const std::string& name : doubt.often) doubt.once.erase(name);
    if (!doubt.once.empty() || !doubt.often.empty()) out_.doubts.push_back(std::move(doubt));
  }

  [[nodiscard]] std::string text_between(std::size_t begin, std::size_t end) const {
    std::string text;
    for (std::size_t i = begin; i < end; ++i)
      if (tokens_[i].word || tokens_[i].text.starts_with('&') || tokens_[i].text.starts_with('|'))
        text += (text.empty() ? "" : " ") + tokens_[i].text;
    return text;
  }

  void conditional(bool live) {
    bool taken = false, doubtful = false;
    ShellDoubt doubt{at_ < tokens_.size() ? tokens_[at_].line : 1, "", {}, {}};
    do {
      const std::size_t begin = at_;
      const auto status = sequence(live && !taken);
      const bool runs = live && !taken && status != false;
      if (runs && !status && !doubtful) doubt.condition = "if " + text_between(begin, at_);
      doubtful = doubtful || (runs && !status);
      take_word("then");
      if (doubtful)
        branch(runs, doubt);
      else
        sequence(runs);
      taken = taken || (runs && status == true);
    } while (take_word("elif"));
    if (take_word("else")) {
      if (doubtful)
        branch(live && !taken, doubt);
      else
        sequence(live && !taken);
    }
    take_word("fi");
    finish(std::move(doubt));
  }

  void choice(bool live) {
    ShellDoubt doubt{ended() ? 1 : tokens_[at_].line, "", {}, {}};
    const std::string written = ended() ? std::string() : tokens_[at_].text;
    const std::string subject = live ? out_.values.expanded(written) : std::string();
    doubt.condition = "case " + written;
    if (!ended()) ++at_;
    pass_lines();
    take_word("in");
    bool taken = false;
    while (!ended() && !take_word("esac")) {
      if (at_operator("\n") || at_operator(";;") || at_operator("(")) {
        ++at_;
        continue;
      }
      const bool matches = matching(subject);
      const bool runs = live && !taken && (is_unknown(subject) || matches);
      if (is_unknown(subject))
        branch(runs, doubt);
      else
        sequence(runs);
      taken = taken || (runs && !is_unknown(subject));
      if (!at_operator(";;") && !at_word("esac") && !ended()) ++at_;
    }
    finish(std::move(doubt));
  }

  /// Reads the patterns up to `)`; whether one of them is of the subject.
  bool matching(const std::string& subject) {
    bool found = false;
    while (!ended() && !at_operator(")") && !at_operator("\n")) {
      const ShellToken& token = tokens_[at_++];
      if (!token.word) continue;
      const std::string pattern = out_.values.expanded(token.text);
      for (std::size_t begin = 0; begin <= pattern.size();) {
        const std::size_t end = std::min(pattern.find('|', begin), pattern.size());
        found = found || matches_shell_pattern(subject, std::string_view(pattern).substr(begin, end - begin));
        begin = end + 1;
      }
    }
    if (!ended()) ++at_;
    return found;
  }

  // Loops and functions.

  void loop(bool live) {
    const ShellToken& kind = tokens_[at_++];
    if (kind.text == "for" && !ended() && tokens_[at_].word && tokens_[at_].text.starts_with("(("))
      return counting_loop(kind.line, live);
    if (kind.text == "while" || kind.text == "until") {
      const auto status = sequence(live);
      live = live && status != (kind.text == "until");
    } else {
      first_round(kind, live);
    }
    take_word("do");
    sequence(live);
    take_word("done");
  }

  /// `name in words`: gives the name the first word; a doubt where there are others.
  void first_round(const ShellToken& kind, bool live) {
    const std::size_t begin = at_;
    const std::string name = ended() ? std::string() : tokens_[at_++].text;
    std::vector<std::string> words;
    for (; !ended() && tokens_[at_].word && !at_word("do"); ++at_)
      for (std::string& word : shell_arguments(live ? out_.values.expanded(tokens_[at_].text) : ""))
        words.push_back(std::move(word));
    const std::size_t end = at_;
    while (at_operator(";") || at_operator("\n")) ++at_;
    if (words.size() < 2 || words[0] != "in" || !is_shell_name(name)) return;
    set(name, words[1]);
    if (words.size() > 2) out_.doubts.push_back({kind.line, "for " + text_between(begin, end), {name}, {}, 1});
  }

  /// `for ((begin; condition; step))`: every round, where the script's values bound them; else the first, as a doubt.
  void counting_loop(int line, bool live) {
    const std::string head = tokens_[at_++].text;
    while (at_operator(";") || at_operator("\n")) ++at_;
    take_word("do");
    const std::size_t body = at_;
    sequence(false);
    const std::size_t end = at_;
    if (live) {
      ShellDoubt doubt{line, "for " + head, {}, {}};
      const std::set<std::string> before = std::exchange(set_, {});
      const bool decided = count_rounds(head, {body, end}, doubt.rounds);
      if (!decided && doubt.rounds == 0) {
        run_round({body, end});
        ++doubt.rounds;
      }
      doubt.once = set_;
      set_.insert(before.begin(), before.end());
      if (!decided && !doubt.once.empty()) out_.doubts.push_back(std::move(doubt));
    }
    at_ = end;
    take_word("done");
  }

  void run_round(std::pair<std::size_t, std::size_t> body) {
    at_ = body.first;
    if (at_ < body.second) sequence(true);
  }

  /// Whether the loop came to its end.
  bool count_rounds(std::string_view head, std::pair<std::size_t, std::size_t> body, int& rounds) {
    const std::size_t close = shell_closing(head, 0);
    if (close == std::string_view::npos || close < 3) return false;
    const std::string_view inside = head.substr(2, close - 3);
    const std::size_t first = inside.find(';'), second = inside.find(';', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos || leaves_early(body)) return false;
    const std::string_view condition = inside.substr(first + 1, second - first - 1), step = inside.substr(second + 1);
    if (!count(inside.substr(0, first))) return false;
    while (true) {
      const auto goes_on = shell_arithmetic_condition(condition, out_.values);
      if (goes_on == false) return true;
      if (!goes_on || rounds_ == kMostRounds || commands_ > kMostCommands || out_.values.exhausted()) return false;
      ++rounds_;
      ++rounds;
      run_round(body);
      if (!count(step)) return false;
    }
  }

  [[nodiscard]] bool leaves_early(std::pair<std::size_t, std::size_t> body) const {
    return std::any_of(tokens_.begin() + static_cast<std::ptrdiff_t>(body.first),
                       tokens_.begin() + static_cast<std::ptrdiff_t>(body.second), [](const ShellToken& token) {
                         return token.word && (token.text == "break" || token.text == "continue");
                       });
  }

  /// Assignments of an arithmetic command between commas; whether it has none but these and their values are known.
  bool count(std::string_view text) {
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find(',', begin), text.size());
      const auto one = shell_count(text.substr(begin, end - begin));
      std::string value = one ? out_.values.expanded(fmt::format("$(({}))", one->expression)) : std::string();
      if (value.empty() || is_unknown(value)) return false;
      set(one->name, std::move(value));
      begin = end + 1;
    }
    return true;
  }

  [[nodiscard]] bool defines_function() const {
    if (at_ + 1 >= tokens_.size() || !tokens_[at_].word || !is_shell_name(tokens_[at_].text)) return false;
    return tokens_[at_ + 1].text == "()";
  }

  void function() {
    if (ended()) return;
    const std::string name = tokens_[at_++].text;
    if (!ended() && tokens_[at_].text == "()") ++at_;
    pass_lines();
    const std::size_t begin = at_;
    if (!ended()) command(false);
    functions_[name] = {begin, at_};
  }

  void call(const std::string& name, const std::vector<std::string>& words) {
    called_.insert(name);
    if (calls_ == kDeepest) return;
    ++calls_;
    std::string all;
    for (std::size_t i = 1; i < words.size(); ++i) {
      out_.values.assign(std::to_string(i), words[i]);
      all += (i == 1 ? "" : " ") + words[i];
    }
    for (const char* every : {"@", "*"}) out_.values.assign(every, all);
    const std::size_t back = std::exchange(at_, functions_[name].first);
    if (at_ < functions_[name].second) command(true);
    at_ = back;
    --calls_;
  }

  // Single commands.

  void set(const std::string& name, std::string value) {
    set_.insert(name);
    out_.pieces.push_back({false, shell_arguments(value)});
    out_.values.assign(name, std::move(value));
  }

  void assign(std::string_view word, std::size_t name_length) {
    const std::string name(word.substr(0, name_length));
    const bool adds = word[name_length] == '+';
    std::string_view written = word.substr(name_length + (adds ? 2 : 1));
    std::string value;
    const bool list = written.size() >= 2 && written.front() == '(' && written.back() == ')';
    if (list) {
      for (const ShellToken& token : shell_tokens(written.substr(1, written.size() - 2)))
        if (token.word) value += (value.empty() ? "" : " ") + out_.values.expanded(token.text);
    } else {
      value = out_.values.expanded(written);
    }
    if (const std::string* old = adds ? out_.values.find(name) : nullptr) value = *old + (list ? " " : "") + value;
    set(name, std::move(value));
  }

  /// The words of a command up to an operator; of `[[ … ]]` operators are words, too.
  std::vector<std::string_view> take_words() {
    std::vector<std::string_view> out;
    const bool test = at_word("[[");
    for (; !ended() && (tokens_[at_].word || (test && tokens_[at_].text != "\n")); ++at_) {
      out.push_back(tokens_[at_].text);
      if (test && out.back() == "]]") return ++at_, out;
    }
    return out;
  }

  std::optional<bool> simple(bool live) {
    const std::vector<std::string_view> words = take_words();
    if (words.empty() && !ended()) ++at_;
    if (!live || words.empty() || ++commands_ > kMostCommands || out_.values.exhausted()) return std::nullopt;
    const std::string_view first = words.front();
    if (first == "[" || first == "[[")
      return shell_condition({words.begin() + 1, words.end() - (words.back().starts_with(']') ? 1 : 0)}, out_.values);
    if (first == "test") return shell_condition({words.begin() + 1, words.end()}, out_.values);
    if (first.starts_with("((") && first.ends_with("))")) {
      const std::string_view inside = first.substr(2, first.size() - 4);
      if (count(inside)) return std::nullopt;
      return shell_arithmetic_condition(inside, out_.values);
    }
    if (first == "true" || first == "false") return first == "true";
    return run(words);
  }

  /// `printf -v name format words`: false where it is none, or what it prints is not known.
  bool print_into_variable(const std::vector<std::string_view>& words) {
    if (words.size() < 4 || words[0] != "printf" || words[1] != "-v" || words[3].find('\\') != std::string_view::npos)
      return false;
    const std::string name = out_.values.expanded(words[2]);
    std::vector<std::string> arguments;
    for (std::size_t i = 4; i < words.size(); ++i) {
      std::string value = out_.values.expanded(words[i]);
      const bool whole = words[i].front() == '\'' || (words[i].front() == '"' && !words[i].ends_with("[@]}\""));
      if (whole)
        arguments.push_back(std::move(value));
      else
        for (const std::string_view line : lines_of(value))
          for (const std::string_view word : words_of(line)) arguments.emplace_back(word);
    }
    std::optional<std::string> printed = shell_printed(out_.values.expanded(words[3]), arguments);
    if (!printed || !is_shell_name(name)) return false;
    set(name, std::move(*printed));
    return true;
  }

  /// They succeed, but for a command that they take the output of.
  static std::optional<bool> status_of_assignments(const std::vector<std::string_view>& words) {
    for (const std::string_view word : words)
      if (word.find("$(") != std::string_view::npos || word.find('`') != std::string_view::npos) return std::nullopt;
    return true;
  }

  std::optional<bool> run(const std::vector<std::string_view>& words) {
    if (print_into_variable(words)) return true;
    static const std::set<std::string_view> declarations{"export", "readonly", "declare", "local", "typeset"};
    std::vector<std::string> command;
    bool assigns = true;
    for (const std::string_view word : words) {
      const std::size_t name = assigns ? assigned_name(word) : 0;
      if (name > 0) {
        assign(word, name);
        continue;
      }
      assigns = assigns && (declarations.contains(word) || (declarations.contains(words[0]) && word.starts_with('-')));
      for (std::string& one : shell_arguments(out_.values.expanded(word))) command.push_back(std::move(one));
    }
    if (command.empty()) return status_of_assignments(words);
    for (const std::string& word : command)
      if (is_option(word)) set_.insert(word.substr(0, word.find('=')));
    if (functions_.contains(command[0])) {
      call(command[0], command);
    } else {
      out_.pieces.push_back({true, std::move(command)});
    }
    return std::nullopt;
  }

  std::vector<ShellToken> tokens_;
  std::size_t at_ = 0;
  int depth_ = 0, calls_ = 0, commands_ = 0, rounds_ = 0;
  std::map<std::string, std::pair<std::size_t, std::size_t>> functions_;  ///< where their bodies begin and end
  std::set<std::string> called_, set_;  ///< set_: variables and options of the branch being followed
  ShellOutcome out_;
};

/// Words between blanks, without comments; a command in `$(…)` that was left as it is stays one with its word.
std::vector<std::string_view> words_with_commands(std::string_view text) {
  constexpr std::string_view kBetween = " \t\r\n\v\f";
  std::vector<std::string_view> out;
  bool unclosed = false;
  for (std::size_t at = 0; (at = text.find_first_not_of(kBetween, at)) != std::string_view::npos;) {
    if (text[at] == '#') {
      at = std::min(text.find('\n', at), text.size());
      continue;
    }
    const std::size_t begin = at;
    for (; at < text.size() && kBetween.find(text[at]) == std::string_view::npos; ++at) {
      if (unclosed || !text.substr(at).starts_with("$(")) continue;
      const std::size_t close = shell_closing(text, at + 1);
      unclosed = close == std::string_view::npos;
      if (!unclosed) at = close;
    }
    out.push_back(text.substr(begin, at - begin));
  }
  return out;
}

}  // namespace

std::vector<std::string> shell_arguments(std::string_view text) {
  std::vector<std::string> out;
  for (const std::string_view word : words_with_commands(text)) {
    if (is_unknown(word)) {
      out.emplace_back(word);
      continue;
    }
    std::string one;
    for (const char c : word) {
      if (std::string_view("[]\"'").find(c) != std::string_view::npos) continue;
      if (c != ',') {
        one += c;
      } else if (!one.empty()) {
        out.push_back(std::exchange(one, {}));
      }
    }
    if (!one.empty()) out.push_back(std::move(one));
  }
  return out;
}

ShellOutcome follow_shell_script(std::string_view script, ShellValues values) {
  return Follower(script, std::move(values)).follow();
}

}  // namespace stepcast
