#include "calibration/importers/models/shell_script.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "calibration/importers/models/shell_condition.hpp"
#include "calibration/importers/models/shell_tokens.hpp"
#include "calibration/importers/text_file.hpp"

namespace stepcast {

namespace {

constexpr int kMostCommands = 100'000;  ///< functions may call each other
constexpr int kDeepest = 64;            ///< of blocks and calls within each other

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
    if (words.size() > 2) out_.doubts.push_back({kind.line, "for " + text_between(begin, end), {name}, {}, true});
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
    if (first.starts_with("((") && first.ends_with("))"))
      return shell_arithmetic_condition(first.substr(2, first.size() - 4), out_.values);
    if (first == "true" || first == "false") return first == "true";
    return run(words);
  }

  std::optional<bool> run(const std::vector<std::string_view>& words) {
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
    if (command.empty()) return std::nullopt;
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
  int depth_ = 0, calls_ = 0, commands_ = 0;
  std::map<std::string, std::pair<std::size_t, std::size_t>> functions_;  ///< where their bodies begin and end
  std::set<std::string> called_, set_;  ///< set_: variables and options of the branch being followed
  ShellOutcome out_;
};

}  // namespace

std::vector<std::string> shell_arguments(std::string_view text) {
  std::vector<std::string> out;
  for (std::string_view line : lines_of(text))
    for (const std::string_view word : words_of(line)) {
      if (word.starts_with('#')) break;
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
