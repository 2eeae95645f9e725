#include "gui/view-models/server_catalogue.hpp"

#include <QObject>
#include <algorithm>

#include "fields/dotted_path.hpp"
#include "gui/view-models/number_format.hpp"
#include "gui/view-models/qt_text.hpp"
#include "hardware-catalog/catalog.hpp"

namespace stepcast {

namespace {

using Tone = FigureCell::Tone;

FigureCell positive_cell(double number, const QString& text) {
  if (!(number > 0)) return {.text = QStringLiteral("—"), .number = 0, .tone = Tone::muted};
  return {.text = text, .number = number};
}

/// Money per hour: on demand, else the month's rent.
double hourly(const Node& node) {
  if (!node.price) return 0;
  if (node.price->on_demand) return node.price->on_demand->value() * 3600;
  if (node.price->monthly) return node.price->monthly->value() * 3600;
  return 0;
}

QString interconnect_words(const Node& node) {
  if (!node.has_accelerators() || node.accelerator_count == 1) return {};
  return node.interconnect.generation.empty() ? qt(name_of(node.interconnect.kind)) : qt(node.interconnect.generation);
}

FigureCell network_cell(const Node& node) {
  double total = 0;
  QStringList words;
  for (const Nic& nic : node.nics) {
    if (!nic.training) continue;
    const double rate = nic.bandwidth.in(1_Gbps);
    total += nic.count * rate;
    words << (nic.count == 1 ? shown_number(rate) : QStringLiteral("%1 × %2").arg(nic.count).arg(shown_number(rate)));
  }
  if (!(total > 0)) return {.text = QStringLiteral("—"), .number = 0, .tone = Tone::muted};
  return {.text = words.join(QStringLiteral(" + ")), .number = total};
}

ServerRow row_of(const Catalog& catalog, const Node& node) {
  ServerRow out;
  out.id = node.id;
  const Accelerator* accelerator = node.has_accelerators() ? catalog.find<Accelerator>(node.accelerator) : nullptr;
  out.accelerator = accelerator ? qt(accelerator->id) : QString();
  out.accelerators = accelerator ? node.accelerator_count : 0;
  out.memory_GB = accelerator ? accelerator->memory.in(1_GB) : node.memory.in(1_GB);
  out.usd_per_h = hourly(node);
  out.usd_purchase = node.price && node.price->purchase ? node.price->purchase->value() : 0;
  const double tflops = accelerator ? std::max(accelerator->peak(Precision::bf16).in(1_TFLOPS),
                                               accelerator->peak(Precision::fp16).in(1_TFLOPS))
                                    : 0;
  const double native =
      node.has_accelerators() ? node.interconnect.bandwidth_per_accelerator(node.accelerator_count).in(1_GBps) : 0;
  const double watts = node.max_power ? node.max_power->value() : 0;
  out.cells = {{.text = qt(node.id)},
               {.text = accelerator ? QStringLiteral("%1 × %2").arg(out.accelerators).arg(out.accelerator)
                                    : tr("%1 × %2").arg(std::max(1, node.cpu_count)).arg(qt(node.cpu)),
                .tone = accelerator ? Tone::plain : Tone::muted},
               positive_cell(out.memory_GB, shown_number(out.memory_GB)),
               positive_cell(out.usd_per_h, shown_number(out.usd_per_h)),
               positive_cell(tflops, shown_number(tflops)),
               positive_cell(out.usd_purchase, shown_count(out.usd_purchase)),
               positive_cell(watts, shown_number(watts / 1000)),
               {.text = interconnect_words(node)},
               positive_cell(native, shown_number(native)),
               network_cell(node)};
  return out;
}

QString cell_html(const QString& text) { return text.toHtmlEscaped(); }

QString value_words(const Json& value) {
  if (value.is_string()) return qt(value.get<std::string>());
  if (value.is_boolean()) return value.get<bool>() ? tr("yes") : tr("no");
  if (value.is_number()) {
    const double number = value.get<double>();
    return localized(QString::number(number, 'g', 8));
  }
  return qt(value.dump());
}

/// The number of a source in the list below the table; it joins the list at its first use.
QString numbered(QStringList& sources, const QString& source) {
  if (source.isEmpty()) return {};
  if (!sources.contains(source)) sources << source;
  return QStringLiteral("[%1]").arg(sources.indexOf(source) + 1);
}

/// The lines of one entry; figures carry their evidence and the number of their source.
void add_lines(QString& html, QStringList& sources, const Json& entry, const Json& value, const std::string& path,
               int depth) {
  static const std::vector<std::string> kApart{"id", "sources", "evidence", "note"};
  for (const auto& [key, item] : value.items()) {
    if (depth == 0 && std::find(kApart.begin(), kApart.end(), key) != kApart.end()) continue;
    const std::string at = dotted_path(path, key);
    const auto stated = [&](const char* which) -> QString {
      const Json map = entry.value(which, Json::object());
      const std::string top = at.substr(0, at.find('.'));
      for (const std::string& name : {at, top, std::string("all")})
        if (map.contains(name) && map[name].is_string()) return qt(map[name].get<std::string>());
      return {};
    };
    const QString label = QString(depth * 3, QChar(0x00a0)) + qt(key).replace(QLatin1Char('_'), QLatin1Char(' '));
    const bool parts = item.is_object() || (item.is_array() && !item.empty() && item[0].is_object());
    html += QStringLiteral("<tr><td>%1</td><td align=right>%2</td><td class=e>%3</td><td class=s>%4</td></tr>")
                .arg(cell_html(label), parts ? QString() : cell_html(value_words(item)), cell_html(stated("evidence")),
                     depth == 0 ? numbered(sources, stated("sources")) : QString());
    if (!parts) continue;
    if (item.is_object()) add_lines(html, sources, entry, item, at, depth + 1);
    if (item.is_array())
      for (const Json& part : item) add_lines(html, sources, entry, part, at, depth + 1);
  }
}

QString entry_html(const Catalog& catalog, const char* kind, const std::string& id, const QString& title) {
  const Json entry = catalog.show(kind, id);
  QString html = QStringLiteral("<h3>%1</h3>").arg(cell_html(title));
  if (const std::string note = entry.value("note", ""); !note.empty())
    html += QStringLiteral("<p class=s>%1</p>").arg(cell_html(qt(note)));
  html += QStringLiteral("<table width=100% cellspacing=0 cellpadding=2>");
  QStringList sources;
  add_lines(html, sources, entry, entry, {}, 0);
  html += QStringLiteral("</table>");
  for (qsizetype i = 0; i < sources.size(); ++i)
    html += QStringLiteral("<p class=s>[%1] %2</p>").arg(i + 1).arg(cell_html(sources[i]));
  return html;
}

}  // namespace

QStringList server_headings() {
  return {tr("Server"),   tr("Devices"),    tr("GB each"),      tr("$ an hour"),   tr("TFLOP/s bf16"),
          tr("$ to buy"), tr("kW at most"), tr("Links inside"), tr("GB/s inside"), tr("Network, Gb/s")};
}

std::vector<ServerRow> server_rows(const Catalog& catalog) {
  std::vector<ServerRow> out;
  for (const std::string& id : catalog.ids("nodes")) {
    try {
      if (const Node* node = catalog.find<Node>(id)) out.push_back(row_of(catalog, *node));
    } catch (const InputError&) {
      continue;
    }
  }
  return out;
}

bool passes(const ServerRow& row, const ServerFilter& filter) {
  if (!filter.accelerator.isEmpty() && row.accelerator != filter.accelerator) return false;
  if (row.memory_GB < filter.least_memory_GB) return false;
  if (filter.most_usd_per_h > 0 && !(row.usd_per_h > 0 && row.usd_per_h <= filter.most_usd_per_h)) return false;
  if (filter.priced_only && !(row.usd_per_h > 0) && !(row.usd_purchase > 0)) return false;
  QString all;
  for (const FigureCell& cell : row.cells) all += cell.text + QLatin1Char(' ');
  const QStringList words = filter.words.split(QLatin1Char(' '), Qt::SkipEmptyParts);
  return std::all_of(words.begin(), words.end(),
                     [&](const QString& word) { return all.contains(word, Qt::CaseInsensitive); });
}

QString server_card(const Catalog& catalog, const std::string& id) {
  try {
    const Node* node = catalog.find<Node>(id);
    if (node == nullptr) return {};
    QString html = entry_html(catalog, "nodes", id, qt(id));
    if (node->has_accelerators())
      html += entry_html(catalog, "accelerators", node->accelerator,
                         QStringLiteral("%1 × %2").arg(node->accelerator_count).arg(qt(node->accelerator)));
    if (!node->cpu.empty()) html += entry_html(catalog, "cpus", node->cpu, qt(node->cpu));
    return html;
  } catch (const InputError& error) {
    return cell_html(QString::fromUtf8(error.what()));
  }
}

}  // namespace stepcast
