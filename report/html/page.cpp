#include "report/html/page.hpp"

#include <fmt/format.h>

#include <string_view>

#include "report/markup.hpp"

namespace stepcast {

namespace {

/// Colours by meaning; after Okabe & Ito 2008 (told apart by colour-blind people), lightened for dark pages.
constexpr std::string_view kStyle = R"css(
:root{color-scheme:light dark;--page:#f6f7f9;--card:#fff;--ink:#17202b;--soft:#5b6675;--line:#e1e5ea;--grid:#eceff3;
--compute:#0b6fb8;--forward:#2a86cf;--backward:#0a5590;--communication:#d3680a;--loading:#b8860b;--bubble:#c3cad3;
--wait:#98a3b0;--optimizer:#12835f;--host:#a6548a;--overhead:#7a5ea8;--good:#12835f;--bad:#c0392b;--on:#fff}
@media (prefers-color-scheme:dark){:root{--page:#10151b;--card:#18202a;--ink:#e7ecf2;--soft:#9aa7b6;--line:#2a3542;
--grid:#222c37;--compute:#4da3e6;--forward:#62b2ef;--backward:#3680bd;--communication:#f09a4a;--loading:#e3bd4d;
--bubble:#4a5664;--wait:#66758a;--optimizer:#3fbf93;--host:#d38bb9;--overhead:#a892d6;--good:#3fbf93;--bad:#ef7d6f;
--on:#10151b}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1120px;padding:28px 20px 60px;background:var(--page);color:var(--ink);
font:15px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
h1{font-size:1.75rem;line-height:1.2;margin:0 0 .25em;overflow-wrap:anywhere}
h2{font-size:1.1rem;margin:0 0 .5em}p{margin:.4em 0}.sub,.note{color:var(--soft)}.lead{font-size:1.05rem}
section{background:var(--card);border:1px solid var(--line);border-radius:12px;padding:18px 20px;margin:16px 0}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(136px,1fr));gap:12px;margin:20px 0}
.card{background:var(--card);border:1px solid var(--line);border-radius:12px;padding:12px 13px}
.card b{display:block;font-size:1.32rem;line-height:1.25;font-weight:650;font-variant-numeric:tabular-nums}
.card span{color:var(--soft);font-size:.86rem;display:block}.card .bad{color:var(--bad)}
svg{display:block;width:100%;height:auto;overflow:visible}svg text{fill:var(--ink);font:12px system-ui,sans-serif}
svg .soft{fill:var(--soft)}svg .on{fill:var(--on)}svg .end{text-anchor:end}svg .mid{text-anchor:middle}
svg .big{font-weight:600}
.axis{stroke:var(--line);stroke-width:1}.grid{stroke:var(--grid);stroke-width:1}.limit{stroke:var(--bad);
stroke-width:1.5;stroke-dasharray:5 4}.series{fill:none;stroke-width:2.2}.ideal{fill:none;stroke:var(--wait);
stroke-width:1.5;stroke-dasharray:4 4}
.compute{fill:var(--compute)}.forward{fill:var(--forward)}.backward{fill:var(--backward)}
.communication{fill:var(--communication)}.loading{fill:var(--loading)}.bubble{fill:var(--bubble)}
.wait{fill:var(--wait)}.optimizer{fill:var(--optimizer)}.host{fill:var(--host)}.overhead{fill:var(--overhead)}
.good{fill:var(--good)}.worse{fill:var(--bad)}.lane{fill:var(--grid)}.here{fill:var(--card);stroke:var(--compute);
stroke-width:3}.s-compute{stroke:var(--compute)}.s-communication{stroke:var(--communication)}
table{border-collapse:collapse;margin:.6em 0;font-variant-numeric:tabular-nums;width:100%}
th,td{padding:4px 10px 4px 0;border-bottom:1px solid var(--line);text-align:right;overflow-wrap:anywhere}
th:first-child,td:first-child{text-align:left}th{color:var(--soft);font-weight:600;font-size:.86rem}
.wide{overflow-x:auto}details{margin-top:.7em}summary{cursor:pointer;color:var(--soft);font-size:.9rem}
pre{background:var(--page);border:1px solid var(--line);border-radius:8px;padding:12px 14px;overflow-x:auto;
font:12.5px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;white-space:pre-wrap;overflow-wrap:anywhere}
ul{margin:.3em 0;padding-left:1.2em}footer{color:var(--soft);font-size:.86rem;margin-top:24px}
.two{display:grid;grid-template-columns:repeat(auto-fit,minmax(420px,1fr));gap:0 16px}
@media (max-width:520px){.two{grid-template-columns:1fr}}
@media print{body{background:#fff}section,.card{break-inside:avoid}}
)css";

std::string row(const std::vector<std::string>& cells, const char* tag) {
  std::string out = "<tr>";
  for (const std::string& cell : cells)
    out += fmt::format("<{0}{2}>{1}</{0}>", tag, escaped_markup(cell),
                       std::string_view(tag) == "th" ? " scope=\"col\"" : "");
  return out + "</tr>\n";
}

}  // namespace

std::string html_document(const HtmlPage& page) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src "
      "data:\">\n<link rel=\"icon\" href=\"data:,\">\n<title>{}</title>\n<style>{}</style></head>\n<body>\n{}"
      "</body></html>\n",
      escaped_markup(page.title), kStyle, page.body);
}

std::string html_table(const HtmlTable& table) {
  std::string out = "<div class=\"wide\"><table>\n<thead>" + row(table.head, "th") + "</thead><tbody>\n";
  for (const std::vector<std::string>& cells : table.rows) out += row(cells, "td");
  return out + "</tbody></table></div>\n";
}

std::string html_section(const std::string& heading, const std::string& body) {
  return fmt::format("<section><h2>{}</h2>\n{}</section>\n", escaped_markup(heading), body);
}

std::string html_figure(const std::string& svg, const HtmlTable& table, const std::string& summary) {
  return fmt::format("{}<details><summary>{}</summary>\n{}</details>\n", svg, escaped_markup(summary),
                     html_table(table));
}

std::string html_folded_text(const std::string& summary, const std::string& text) {
  return fmt::format("<details><summary>{}</summary><pre>{}</pre></details>\n", escaped_markup(summary),
                     escaped_markup(text));
}

}  // namespace stepcast
