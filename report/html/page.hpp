#pragma once

#include <string>
#include <vector>

namespace stepcast {

/// A page that needs nothing but itself: style inside, no script, nothing fetched. Light or dark as the reader's system
/// is.
struct HtmlPage {
  std::string title;  ///< text
  std::string body;   ///< markup
};
std::string html_document(const HtmlPage& page);

/// A table of texts; the first column is words, the others figures.
struct HtmlTable {
  std::vector<std::string> head;
  std::vector<std::vector<std::string>> rows;
};
std::string html_table(const HtmlTable& table);

/// A part of the page under a heading (text) with its markup.
std::string html_section(const std::string& heading, const std::string& body);

/// A drawing with the table of what it shows, folded away behind its summary (text).
std::string html_figure(const std::string& svg, const HtmlTable& table, const std::string& summary);

/// Folded text as it stands in a file.
std::string html_folded_text(const std::string& summary, const std::string& text);

}  // namespace stepcast
