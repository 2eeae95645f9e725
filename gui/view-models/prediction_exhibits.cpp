#include "gui/view-models/prediction_exhibits.hpp"

#include <QObject>
#include <algorithm>
#include <array>
#include <utility>

#include "gui/view-models/number_format.hpp"
#include "gui/view-models/qt_text.hpp"
#include "gui/view-models/run_exhibits.hpp"
#include "report/run_outlook.hpp"

namespace stepcast {

namespace {

using Tone = FigureCell::Tone;

FigureCell text_cell(const QString& text, Tone tone = Tone::plain) { return {.text = text, .tone = tone}; }
HeadlineFigure throughput(const Prediction& p) {
  const bool tokens = p.tokens_per_s > 0;
  const QString unit = tokens ? tr("Tokens/s") : tr("Samples/s");
  return {.caption = unit,
          .value = shown_count(tokens ? p.tokens_per_s : p.samples_per_s),
          .below = tr("%1 per device").arg(shown_count(tokens ? p.tokens_per_s_per_gpu : p.samples_per_s_per_gpu)),
          .explanation = tr("%1 samples/s over the whole cluster, on %2 in %3.")
                             .arg(shown_count(p.samples_per_s), counted(p.devices, tr("device"), tr("devices")),
                                  counted(p.nodes, tr("server"), tr("servers")))};
}

HeadlineFigure step_time(const Prediction& p) {
  return {.caption = tr("Step time"),
          .value = shown(p.step_time),
          .below = tr("%1 – %2, evidence %3")
                       .arg(shown(p.step_time_low()), shown(p.step_time_high()), qt(name_of(p.expected_error.grade))),
          .explanation = tr("80 of 100 like runs took %1 to %2. %3.")
                             .arg(shown(p.step_time_low()), shown(p.step_time_high()), qt(p.expected_error.why))};
}

HeadlineFigure training(const Prediction& p) {
  if (!p.time_to_train)
    return {.caption = tr("Time to train"),
            .value = QStringLiteral("—"),
            .below = tr("state tokens, samples or epochs"),
            .explanation = tr("The scenario names no amount of work to train on."),
            .tone = Tone::muted};
  HeadlineFigure out{.caption = tr("Time to train"), .value = shown(*p.time_to_train)};
  if (!p.outlook || !p.outlook->run) return out;
  const RunTotals& run = *p.outlook->run;
  double steps = 0;
  for (const PhaseOutlook& phase : p.outlook->phases) steps += phase.steps;
  out.below = tr("%1 steps, goodput %2").arg(shown_count(steps), shown_percent(p.outlook->goodput.mean));
  out.explanation =
      tr("All phases of the run, with checkpoints, failures and restarts: %1. 80 of 100 like runs took %2 "
         "to %3.")
          .arg(qt(p.outlook->goodput.basis), shown(run.time_low), shown(run.time_high));
  return out;
}

HeadlineFigure cost(const Prediction& p) {
  HeadlineFigure out{.caption = tr("Cost"), .explanation = qt(p.cost_basis)};
  if (!p.cost_rate) {
    out.value = QStringLiteral("—");
    out.below = tr("no price known");
    out.tone = Tone::muted;
    out.explanation = tr("The catalogue lacks a price: what is assumed says of which server.");
    return out;
  }
  const QString per_hour = tr("%1 per hour").arg(shown(*p.cost_rate * 1_h));
  out.value = p.run_cost ? shown(*p.run_cost) : per_hour;
  out.below = p.run_cost ? per_hour : tr("servers and electricity");
  return out;
}

HeadlineFigure power(const Prediction& p) {
  return {
      .caption = tr("Power"),
      .value = shown(p.average_power),
      .below = tr("peak %1").arg(shown(p.peak_power)),
      .explanation = tr("Mean of the whole cluster at the meter, cooling included. %1 a step, %2 a sample; a device "
                        "draws %3 on average.")
                         .arg(shown(p.energy_per_step), shown(p.energy_per_sample), shown(p.device_average_power))};
}

HeadlineFigure efficiency(const Prediction& p) {
  return {.caption = tr("Efficiency (MFU)"),
          .value = shown_percent(p.mfu),
          .below = tr("%1 TFLOP/s per device").arg(shown_number(p.model_tflops_per_gpu)),
          .explanation = tr("Model FLOPs over the devices' peak. With recomputation: %1 TFLOP/s, %2 of the peak.")
                             .arg(shown_number(p.hardware_tflops_per_gpu), shown_percent(p.hfu))};
}

HeadlineFigure memory(const Prediction& p) {
  HeadlineFigure out{.caption = tr("Device memory")};
  if (p.memory.stages.empty()) {
    out.value = QStringLiteral("—");
    return out;
  }
  const Bytes peak = p.memory.stages[static_cast<std::size_t>(p.memory.worst_stage)].total();
  const Bytes capacity = p.memory.capacity;
  out.gauge = peak / capacity;
  out.value = p.memory.fits ? tr("fits") : tr("does not fit");
  out.below = p.memory.fits                       ? tr("%1 of %2").arg(shown(peak), shown(capacity))
              : p.memory.over_device() > Bytes(0) ? tr("%1 too much").arg(shown(p.memory.over_device()))
                                                  : tr("%1 too much in host memory").arg(shown(p.memory.over_host()));
  out.tone = p.memory.fits ? Tone::good : Tone::bad;
  out.explanation = tr("Peak of the fullest pipeline stage, %1, against the %2 that software sees.")
                        .arg(shown(peak), shown(capacity));
  if (!p.memory.phase.empty())
    out.explanation += QLatin1Char(' ') + tr("In the phase that leaves least: %1.").arg(qt(p.memory.phase));
  for (const std::string& advice : p.memory.advice) out.explanation += QStringLiteral("\n• ") + qt(advice);
  return out;
}

}  // namespace

std::vector<HeadlineFigure> headline_figures(const Prediction& p) {
  return {throughput(p), step_time(p), training(p), cost(p), power(p), efficiency(p), memory(p)};
}

std::vector<HeadlineFigure> blank_headline() {
  std::vector<HeadlineFigure> out;
  for (const char* caption :
       {"Tokens/s", "Step time", "Time to train", "Cost", "Power", "Efficiency (MFU)", "Device memory"})
    out.push_back({.caption = tr(caption),
                   .value = QStringLiteral("—"),
                   .below = QString(),
                   .explanation = QString(),
                   .tone = Tone::muted});
  return out;
}

QString degrees_in_words(const Degrees& d) {
  QStringList out;
  const auto add = [&](const char* name, int degree) {
    if (degree > 1) out << QStringLiteral("%1 %2").arg(tr(name)).arg(degree);
  };
  add("tensor", d.tp);
  add("context", d.cp);
  add("pipeline", d.pp);
  add("virtual", d.vpp);
  add("data", d.dp);
  add("expert", d.ep);
  if (d.ep > 1 && d.etp < d.tp) out.back() += tr(" of whole experts");
  if (out.isEmpty()) out << tr("no parallelism");
  out << tr("micro-batch %1 × %2").arg(shown_whole(d.micro_batch), shown_whole(d.micro_batches));
  return out.join(QStringLiteral(" · "));
}

Exhibit step_exhibit(const Prediction& p) {
  struct Part {
    const char* name;
    Seconds time;
    Hue hue;
    const char* meaning;
  };
  const std::array parts{
      Part{"Compute", p.compute, Hue::blue, "Operators on the device, recomputation included"},
      Part{"Exposed communication", p.communication.exposed, Hue::orange,
           "Communication during which the device computes nothing"},
      Part{"Pipeline bubble", p.bubble, Hue::sky, "Waiting for another pipeline stage's computation"},
      Part{"Synchronisation wait", p.synchronization_wait, Hue::purple, "Waiting for a slower member of a group"},
      Part{"Optimizer", p.optimizer, Hue::green, "The parameters' update"},
      Part{"Overhead", p.overhead, Hue::grey, "Fixed time a step, and gaps while the host issues kernels"}};
  Exhibit out;
  out.title = tr("Where the step goes");
  out.remark = tr("Mean over the devices. They compute %1 of the time.").arg(shown_percent(p.gpu_utilization));
  out.warning = input_warning(p);
  const auto storage = p.communication.by_dimension.find("storage");
  const Seconds reading = storage == p.communication.by_dimension.end() ? Seconds(0) : storage->second.exposed;
  const bool waits_for_input = !out.warning.isEmpty() && reading > Seconds(0);
  out.chart.kind = ChartData::Kind::horizontal_bars;
  out.chart.x_title = tr("share of the step, %");
  out.chart.legend = false;
  out.chart.y_from = 0;
  out.table.headings = {tr("Part of the step"), tr("Time"), tr("Share"), tr("What it is")};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Part& part = parts[i];
    const double share = part.time / p.step_time;
    // Room beside the longest bar would end the axis at 150.
    if (share > 0.75) out.chart.y_to = 100;
    out.chart.categories << tr(part.name);
    std::vector<double> values(parts.size(), 0.0);
    values[i] = share * 100;
    QStringList tips;
    for (std::size_t j = 0; j < parts.size(); ++j)
      tips << QStringLiteral("%1: %2, %3").arg(tr(part.name), shown(part.time), shown_percent(share));
    out.chart.series.push_back({.name = tr(part.name), .hue = part.hue, .values = values, .points = {}, .tips = tips});
    out.table.rows.push_back({text_cell(tr(part.name)), figure_cell(part.time), share_cell(share),
                              text_cell(tr(part.meaning), Tone::muted)});
    if (part.hue == Hue::orange && waits_for_input)
      out.table.rows.push_back({text_cell(tr("of it reading input"), Tone::bad), figure_cell(reading, Tone::bad),
                                share_cell(reading / p.step_time, Tone::bad),
                                text_cell(tr("Waiting for samples, not for other devices"), Tone::muted)});
  }
  out.table.rows.push_back({text_cell(tr("Whole step"), Tone::strong), figure_cell(p.step_time, Tone::strong),
                            share_cell(1), text_cell(QString())});
  return out;
}

Exhibit memory_exhibit(const MemoryReport& report) {
  struct Part {
    const char* name;
    Bytes MemoryFootprint::*size;
    Hue hue;
  };
  static constexpr std::array parts{Part{"Parameters", &MemoryFootprint::parameters, Hue::blue},
                                    Part{"Gradients", &MemoryFootprint::gradients, Hue::sky},
                                    Part{"Optimizer states", &MemoryFootprint::optimizer, Hue::green},
                                    Part{"Activations", &MemoryFootprint::activations, Hue::orange},
                                    Part{"Buffers", &MemoryFootprint::buffers, Hue::purple},
                                    Part{"Workspace", &MemoryFootprint::workspace, Hue::yellow},
                                    Part{"Libraries", &MemoryFootprint::libraries, Hue::grey},
                                    Part{"Allocator slack", &MemoryFootprint::slack, Hue::vermillion}};
  const bool binary = NumberFormat::sizes() == NumberFormat::Sizes::binary;
  const Bytes unit = binary ? 1_GiB : 1_GB;
  Exhibit out;
  out.title = tr("Memory of a device, by pipeline stage");
  out.remark = report.fits                       ? tr("Fits. The fullest stage is %1.").arg(report.worst_stage)
               : report.over_device() > Bytes(0) ? tr("Does not fit: stage %1 needs too much.").arg(report.worst_stage)
                                                 : tr("Does not fit: more is offloaded than host memory holds.");
  if (!report.phase.empty())
    out.remark += QLatin1Char(' ') + tr("In the phase that leaves least: %1.").arg(qt(report.phase));
  if (!report.stages.empty() && report.stages.at(report.worst_stage).before_gradients())
    out.remark += QLatin1Char(' ') + tr("Fullest while the loss is computed, when no gradients exist yet.");
  for (const std::string& advice : report.advice) out.remark += QStringLiteral("\n• ") + qt(advice);
  out.chart.kind = ChartData::Kind::bars;
  out.chart.x_title = tr("pipeline stage");
  out.chart.y_title = binary ? tr("GiB") : tr("GB");
  out.chart.y_from = 0;
  out.chart.limit = ChartData::Limit{report.capacity / unit, tr("capacity")};
  for (std::size_t stage = 0; stage < report.stages.size(); ++stage) out.chart.categories << QString::number(stage);
  for (const Part& part : parts) {
    ChartData::Series series{.name = tr(part.name), .hue = part.hue, .values = {}, .points = {}, .tips = {}};
    for (std::size_t stage = 0; stage < report.stages.size(); ++stage) {
      const Bytes size = report.stages[stage].*part.size;
      series.values.push_back(size / unit);
      series.tips << tr("stage %1, %2: %3").arg(QString::number(stage), tr(part.name).toLower(), shown(size));
    }
    out.chart.series.push_back(std::move(series));
  }
  out.table.headings << tr("Held");
  for (std::size_t stage = 0; stage < report.stages.size(); ++stage)
    out.table.headings << (report.stages.size() == 1 ? tr("Device") : tr("Stage %1").arg(stage));
  const auto row = [&](const QString& name, Tone tone, auto&& size_of) {
    std::vector<FigureCell> cells{text_cell(name, tone)};
    for (const MemoryFootprint& stage : report.stages) cells.push_back(figure_cell(size_of(stage), tone));
    out.table.rows.push_back(std::move(cells));
  };
  for (const Part& part : parts)
    row(tr(part.name), Tone::plain, [&](const MemoryFootprint& f) { return f.*part.size; });
  row(tr("Together"), Tone::strong, [](const MemoryFootprint& f) { return f.total(); });
  const bool short_of_memory = report.over_device() > Bytes(0);
  row(short_of_memory ? tr("Left (below 0: missing)") : tr("Left"), short_of_memory ? Tone::bad : Tone::good,
      [&](const MemoryFootprint& f) { return report.capacity - f.total(); });
  if (std::any_of(report.stages.begin(), report.stages.end(), [](const auto& f) { return f.host > Bytes(0); }))
    row(tr("In host memory"), Tone::muted, [](const MemoryFootprint& f) { return f.host; });
  return out;
}

namespace {

/// Of a step; what takes less tells nobody anything (as in the report's text, report/text.cpp).
constexpr double kLeastShare = 1e-5;

Exhibit communication(const std::map<std::string, CommunicationMetrics::Share>& shares, Seconds step,
                      const QString& title, const QString& heading) {
  Exhibit out;
  out.title = title;
  out.chart.kind = ChartData::Kind::horizontal_bars;
  const TimeUnit unit = time_unit(step);
  out.chart.x_title = tr("%1 a step and device").arg(unit.name);
  out.chart.y_from = 0;
  ChartData::Series exposed{.name = tr("exposed"), .hue = Hue::orange, .values = {}, .points = {}, .tips = {}};
  ChartData::Series hidden{
      .name = tr("hidden behind computation"), .hue = Hue::blue, .values = {}, .points = {}, .tips = {}};
  out.table.headings = {heading, tr("Busy"), tr("Exposed"), tr("Exposed share")};
  for (const auto& [name, share] : shares) {
    if (share.total < kLeastShare * step) continue;
    const QString words = sentence(qt(name).replace(QLatin1Char('_'), QLatin1Char('-')));
    const Seconds visible = std::min(share.exposed, share.total);
    out.chart.categories << words;
    exposed.values.push_back(visible / unit.unit);
    exposed.tips << tr("%1: %2 exposed").arg(words, shown(visible));
    hidden.values.push_back((share.total - visible) / unit.unit);
    hidden.tips << tr("%1: %2 hidden").arg(words, shown(share.total - visible));
    const double part = share.total > Seconds(0) ? visible / share.total : 0;
    out.table.rows.push_back(
        {text_cell(words), figure_cell(share.total), figure_cell(share.exposed), share_cell(part)});
  }
  if (out.table.rows.empty()) {
    out.remark = tr("Nothing is communicated.");
    return out;
  }
  out.chart.series = {std::move(exposed), std::move(hidden)};
  return out;
}

}  // namespace

Exhibit assumptions_exhibit(const Prediction& p) {
  Exhibit out;
  out.title = tr("What this rests on");
  QStringList lines{tr("80 of 100 like runs took %1 to %2; evidence %3: %4.")
                        .arg(shown(p.step_time_low()), shown(p.step_time_high()), qt(name_of(p.expected_error.grade)),
                             qt(p.expected_error.why))};
  for (const std::string& assumption : p.assumptions) lines << sentence(qt(assumption));
  out.remark = QStringLiteral("• ") + lines.join(QStringLiteral("\n• "));
  return out;
}

Exhibit communication_by_kind(const Prediction& p) {
  Exhibit out = communication(p.communication.by_kind, p.step_time, tr("Communication by kind"), tr("Kind"));
  if (out.table.rows.empty()) return out;
  out.remark =
      tr("Busy %1 a step, of it exposed %2.").arg(shown(p.communication.total), shown(p.communication.exposed));
  return out;
}

Exhibit communication_by_dimension(const Prediction& p) {
  return communication(p.communication.by_dimension, p.step_time, tr("Communication by what it is for"),
                       tr("Dimension"));
}

}  // namespace stepcast
