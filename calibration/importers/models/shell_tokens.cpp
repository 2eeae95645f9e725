#include "calibration/importers/models/shell_tokens.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace stepcast {

namespace {

constexpr auto kNone = std::string_view::npos;
constexpr std::string_view kShellBlanks = " \t\r";

std::size_t closing_quote(std::string_view text, std::size_t at) {
  const char quote = text[at];
  for (std::size_t i = at + 1; i < text.size(); ++i) {
    if (quote != '\'' && text[i] == '\\')
      ++i;
    else if (text[i] == quote)
      return i;
  }
  return kNone;
}

bool is_blank(char c) { return c == '\n' || kShellBlanks.find(c) != kNone; }

constexpr int kDeepestDocument = 4;  ///< here-documents within here-documents; scripts have one

class Lexer {
 public:
  Lexer(std::string_view text, int line, int depth) : text_(text), line_(line), depth_(depth) {}

  std::vector<ShellToken> read() {
    while (at_ < text_.size()) next();
    add_operator("\n");
    return std::move(out_);
  }

 private:
  [[nodiscard]] char here(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\n';
  }
  void add_operator(std::string_view text) { out_.push_back({false, std::string(text), line_}); }
  void take_operator(std::size_t length) {
    add_operator(text_.substr(at_, length));
    at_ += length;
  }
  /// Whether a command may begin here, where `(` opens a subshell.
  [[nodiscard]] bool at_command() const {
    static const std::set<std::string, std::less<>> openers{"then",  "do",    "else", "elif", "if",
                                                            "while", "until", "!",    "{",    "in"};
    return out_.empty() || !out_.back().word || openers.contains(out_.back().text);
  }

  /// Length of a backslash and the line's end behind it; 0 where none is.
  [[nodiscard]] std::size_t continuation() const {
    if (here() != '\\') return 0;
    if (here(1) == '\n') return 2;
    return here(1) == '\r' && here(2) == '\n' ? 3 : 0;
  }

  void next() {
    const char c = here();
    if (const std::size_t length = continuation()) {
      pass(length);
    } else if (kShellBlanks.find(c) != kNone) {
      ++at_;
    } else if (c == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (c == '\n') {
      take_operator(1);
      ++line_;
      documents();
    } else if (c == ';' || c == '&' || c == '|') {
      if (text_.substr(at_, 2) == "&>") return word();
      take_operator(here(1) == c ? 2 : 1);
    } else if (c == ')' || (c == '(' && at_command() && here(1) != '(')) {
      take_operator(1);
    } else {
      word();
    }
  }

  /// Moves on by so many characters, counting lines.
  void pass(std::size_t length) {
    const std::string_view passed = text_.substr(at_, length);
    line_ += static_cast<int>(std::count(passed.begin(), passed.end(), '\n'));
    at_ += passed.size();
  }

  [[nodiscard]] bool ends_word(bool first) const {
    const char c = here();
    if (is_blank(c) || c == ';' || c == ')') return true;
    if (c == '&') return !first && text_[at_ - 1] != '>' && here(1) != '>';
    // Layers of a pipeline are written as `a|b`, pipes between commands with blanks.
    return c == '|' && (first || is_blank(here(1)) || here(1) == '|' || here(1) == '&');
  }

  void word() {
    ShellToken token{true, "", line_};
    bool first = true;
    for (; at_ < text_.size() && !ends_word(first); first = false) {
      if (const std::size_t length = continuation()) {
        pass(length);
      } else if (here() == '(' && here(1) == ')' && is_shell_name(token.text)) {
        out_.push_back(token);
        return take_operator(2);
      } else if (here() == '\\') {
        token.text += text_.substr(at_, 2);
        pass(2);
      } else {
        part(token.text);
      }
    }
    if (token.text.starts_with("<<") && !token.text.starts_with("<<<")) return document(token.text);
    if (!token.text.empty()) out_.push_back(std::move(token));
  }

  /// One character of a word, or all that it opens.
  void part(std::string& to) {
    const char c = here();
    std::size_t opens = kNone;
    if (c == '"' || c == '\'' || c == '`' || c == '(') opens = at_;
    if (c == '$' && (here(1) == '{' || here(1) == '(' || here(1) == '[')) opens = at_ + 1;
    if (opens == kNone) {
      to += c;
      ++at_;
      return;
    }
    const std::size_t close = unclosed_.contains(text_[opens]) ? kNone : shell_closing(text_, opens);
    if (close == kNone) {
      unclosed_.insert(text_[opens]);  // nor does anything close a later one
      at_ = opens + 1;
      return;
    }
    to += text_.substr(at_, close + 1 - at_);
    pass(close + 1 - at_);
  }

  /// `<<EOF`, `<<-'EOF'`, or `<<` with the mark behind it.
  void document(std::string mark) {
    mark.erase(0, 2);
    if (mark.starts_with('-')) mark.erase(0, 1);
    std::erase_if(mark, [](char c) { return c == '"' || c == '\'' || c == '\\'; });
    if (mark.empty()) {
      while (kShellBlanks.find(here()) != kNone) ++at_;
      while (!is_blank(here())) mark += text_[at_++];
      std::erase_if(mark, [](char c) { return c == '"' || c == '\'' || c == '\\'; });
    }
    if (!mark.empty()) marks_.push_back(std::move(mark));
  }

  /// What the documents of the line that has ended hold, each up to the line that is its mark.
  void documents() {
    for (const std::string& mark : std::exchange(marks_, {})) {
      const std::size_t begin = at_;
      const int line = line_;
      std::size_t end = at_;
      for (bool found = false; !found && at_ < text_.size();) {
        end = at_;
        const std::size_t line_end = std::min(text_.find('\n', at_), text_.size());
        std::string_view one = text_.substr(at_, line_end - at_);
        while (!one.empty() && is_blank(one.front())) one.remove_prefix(1);
        while (!one.empty() && is_blank(one.back())) one.remove_suffix(1);
        found = one == mark;
        if (!found) end = line_end;
        pass(line_end + 1 - at_);
      }
      if (depth_ == kDeepestDocument) continue;
      for (ShellToken& token : Lexer(text_.substr(begin, end - begin), line, depth_ + 1).read())
        out_.push_back(std::move(token));
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int line_, depth_;  ///< of here-documents
  std::set<char> unclosed_;
  std::vector<std::string> marks_;  ///< of the here-documents that the line has announced
  std::vector<ShellToken> out_;
};

}  // namespace

bool is_shell_name(std::string_view text) {
  if (text.empty() || (text[0] >= '0' && text[0] <= '9')) return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return c == '_' || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
  });
}

std::size_t shell_closing(std::string_view text, std::size_t at) {
  const char open = text[at];
  if (open == '"' || open == '\'' || open == '`') return closing_quote(text, at);
  const char close = open == '(' ? ')' : open == '{' ? '}' : ']';
  int depth = 0;
  for (std::size_t i = at; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '"' || text[i] == '\'') {
      const std::size_t end = closing_quote(text, i);
      if (end != kNone) i = end;
    } else if (open == '(' && text[i] == '#' && is_blank(text[i - 1])) {
      i = text.find('\n', i);
      if (i == kNone) return kNone;
    } else if (text[i] == open) {
      ++depth;
    } else if (text[i] == close && --depth == 0) {
      return i;
    }
  }
  return kNone;
}

std::vector<ShellToken> shell_tokens(std::string_view script) { return Lexer(script, 1, 0).read(); }

}  // namespace stepcast
