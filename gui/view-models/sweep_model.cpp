#include "gui/view-models/sweep_model.hpp"

#include <QHash>
#include <QThread>
#include <algorithm>
#include <cmath>
#include <utility>

#include "gui/view-models/configuration_model.hpp"
#include "gui/view-models/document_edit.hpp"
#include "gui/view-models/number_format.hpp"
#include "gui/view-models/qt_text.hpp"
#include "sweeps/run_sweep.hpp"

namespace stepcast {

namespace {

constexpr qsizetype kMostCurves = 8;
/// Of the window's time, reading rows takes at most one part in so many while a sweep runs.
constexpr qint64 kReadingShare = 10;
/// Rows that the window reads of a store.
constexpr std::int64_t kMostRows = 20'000;

QString words_of(const Json& value) { return value.is_string() ? qt(value.get<std::string>()) : qt(value.dump()); }

/// Numbers in order of size, words in order of their first use.
QStringList sorted(QStringList values) {
  values.removeDuplicates();
  const bool numbers = std::all_of(values.begin(), values.end(), [](const QString& value) {
    bool number = false;
    (void)value.toDouble(&number);
    return number;
  });
  if (numbers)
    std::sort(values.begin(), values.end(),
              [](const QString& a, const QString& b) { return a.toDouble() < b.toDouble(); });
  return values;
}

QHash<QString, qsizetype> places_in(const QStringList& values) {
  QHash<QString, qsizetype> out;
  out.reserve(values.size());
  for (qsizetype i = 0; i < values.size(); ++i) out.insert(values[i], i);
  return out;
}

bool all_numbers(const QStringList& values) {
  return std::all_of(values.begin(), values.end(), [](const QString& value) {
    bool number = false;
    (void)value.toDouble(&number);
    return number;
  });
}

using Tone = FigureCell::Tone;

/// Among the figures of a row.
std::size_t place_of(std::string_view column) {
  const auto& columns = figure_columns();
  const auto found =
      std::find_if(columns.begin(), columns.end(), [&](const FigureColumn& c) { return c.name == column; });
  return static_cast<std::size_t>(found - columns.begin());
}

/// Not a number where a row has none.
double figure_of(const SweepRow& row, std::size_t place) {
  return place < row.figures.size() ? row.figures[place] : NAN;
}

/// Whether the configuration of a row can be had at all.
class MemoryOfRow {
 public:
  /// One that was not predicted has another reason.
  [[nodiscard]] bool fits(const SweepRow& row) const { return figure_of(row, fits_) != 0; }
  [[nodiscard]] QString excess(const SweepRow& row) const {
    const Bytes over = (figure_of(row, peak_) - figure_of(row, capacity_)) * 1_GiB;
    return over > Bytes(0) ? tr("does not fit, %1 over").arg(shown(over)) : tr("does not fit host memory");
  }

 private:
  std::size_t fits_ = place_of("memory.fits"), peak_ = place_of("memory.peak_GiB"),
              capacity_ = place_of("memory.capacity_GiB");
};

/// As `--set` takes them.
QStringList settings_of(const SweepForm& form) {
  QStringList out{form.first_path.trimmed() + QLatin1Char('=') + form.first_values.trimmed()};
  if (!form.second_path.trimmed().isEmpty())
    out << form.second_path.trimmed() + QLatin1Char('=') + form.second_values.trimmed();
  return out;
}

SweepDefinition definition_of(const ConfigurationModel& configuration, const SweepForm& form,
                              const std::vector<std::string>& directories) {
  Json scenario = configuration.document();
  write_at(scenario, "/run/fidelity", form.simulate ? "simulated" : "analytic");
  SweepRequest request;
  for (const QString& setting : settings_of(form)) request.sets.emplace_back(plain(setting));
  return {"scenario", std::move(scenario), read_points(request), {directories.begin(), directories.end()}};
}

/// What a sweep with these settings writes into every scenario itself.
std::vector<std::string> written_by(const SweepForm& form) {
  std::vector<std::string> out{"/run/fidelity"};
  for (const QString& path : {form.first_path, form.second_path})
    if (!path.trimmed().isEmpty())
      out.push_back("/" + plain(path.trimmed()
                                    .replace(QLatin1Char('~'), QStringLiteral("~0"))
                                    .replace(QLatin1Char('/'), QStringLiteral("~1"))
                                    .replace(QLatin1Char('.'), QLatin1Char('/'))));
  return out;
}

Json without(Json document, const std::vector<std::string>& pointers) {
  for (const std::string& pointer : pointers) write_at(document, pointer, nullptr);
  return document;
}

}  // namespace

SweepModel::SweepModel(ConfigurationModel& configuration, QObject* parent)
    : QObject(parent), configuration_(configuration), column_(QStringLiteral("samples_per_s")) {
  exhibit_.title = tr("Sweep");
  exhibit_.remark = tr("Choose what varies, and over which values.");
  connect(&configuration_, &ConfigurationModel::changed, this, &SweepModel::look_at_configuration);
}

void SweepModel::look_at_configuration() {
  const bool outdated = !swept_.is_null() && without(swept_, varied_) != without(configuration_.document(), varied_);
  if (std::exchange(outdated_, outdated) != outdated) Q_EMIT changed();
}

SweepModel::~SweepModel() {
  if (thread_ == nullptr) return;
  thread_->disconnect(this);
  stop_.request_stop();
  thread_->wait();
  delete thread_;
}

QStringList SweepModel::columns() {
  QStringList out;
  for (const FigureColumn& column : figure_columns()) out << qt(column.name);
  return out;
}

void SweepModel::start(const SweepForm& form) {
  if (is_running()) return;
  configuration_.finish_edits();
  stop_ = std::stop_source();
  struct End {
    QString why;
    bool failed = false;
  };
  auto end = std::make_shared<End>();
  const bool kept = !form.store.isEmpty();
  store_ = kept ? std::filesystem::path(plain(form.store))
                : std::filesystem::path(plain(folder_.filePath(QStringLiteral("sweep-%1.db").arg(++count_))));
  SweepOptions options;
  options.store = store_;
  options.mode = StoreMode::resume;
  options.stop = stop_.get_token();
  options.progress = [this](const SweepProgress& progress) {
    QMetaObject::invokeMethod(this, [this, progress] {
      progress_ = {.what = tr("Sweeping"),
                   .things = tr("configurations"),
                   .done = static_cast<double>(progress.counts.done()),
                   .all = static_cast<double>(progress.counts.points),
                   .per_second = progress.per_second()};
      status_ = tr("%1 of %2 configurations, %3 a second")
                    .arg(shown_whole(progress.counts.done()), shown_whole(progress.counts.points),
                         shown_number(progress.per_second()));
      read_store_now_and_then();
      Q_EMIT changed();
    });
  };
  std::shared_ptr<SweepDefinition> shared;
  try {
    shared = std::make_shared<SweepDefinition>(definition_of(configuration_, form, directories_));
  } catch (const InputError& error) {
    status_ = QString::fromUtf8(error.what());
    return Q_EMIT changed();
  }
  swept_ = configuration_.document();
  varied_ = written_by(form);
  outdated_ = false;
  options_.clear();
  for (const QString& setting : settings_of(form)) options_ << QStringLiteral("--set") << setting;
  options_ << QStringLiteral("--fidelity") << (form.simulate ? QStringLiteral("simulated") : QStringLiteral("analytic"))
           << QStringLiteral("--store") << (kept ? form.store : QStringLiteral("sweep.sqlite"));
  thread_ = QThread::create([end, shared, options] {
    try {
      const SweepOutcome outcome = run_sweep(*shared, options);
      if (outcome.stopped) end->why = tr("Stopped; Run goes on where it was.");
    } catch (const std::exception& error) {
      *end = {QString::fromUtf8(error.what()), true};
    }
  });
  connect(thread_, &QThread::finished, this, [this, end] {
    thread_->deleteLater();
    thread_ = nullptr;
    if (!end->why.isEmpty()) status_ = end->why;
    // A store that the sweep was refused holds something else, or is none.
    if (end->failed)
      show_nothing();
    else
      read_store();
    Q_EMIT changed();
  });
  progress_ = {tr("Sweeping"), tr("configurations")};
  status_ = progress_.words();
  thread_->start();
  Q_EMIT changed();
}

void SweepModel::stop() { stop_.request_stop(); }

void SweepModel::open(const std::filesystem::path& store) {
  const ResultStore checked(store);
  store_ = store;
  options_.clear();
  swept_ = nullptr;
  outdated_ = false;
  status_ = tr("%1: %2 configurations").arg(qt(store.filename().string()), shown_whole(checked.counts().done()));
  read_store();
  Q_EMIT changed();
}

void SweepModel::set_column(const QString& column) {
  column_ = column;
  read_store();
  Q_EMIT changed();
}

void SweepModel::read_store_now_and_then() {
  if (since_read_.isValid() && since_read_.elapsed() < kReadingShare * reading_took_) return;
  QElapsedTimer timer;
  timer.start();
  read_store();
  reading_took_ = timer.elapsed();
  since_read_.start();
}

void SweepModel::show_nothing() {
  grid_ = {};
  exhibit_ = {};
  exhibit_.title = tr("Sweep");
}

void SweepModel::read_store() {
  grid_ = {};
  exhibit_ = {};
  exhibit_.title = column_;
  try {
    const ResultStore store(store_);
    const SweepPoints& points = store.points();
    grid_.x_name = qt(points.paths().front());
    if (points.paths().size() > 1) grid_.y_name = qt(points.paths()[1]);
    std::vector<Point> read;
    read_rows(store, read);
    fill_grid(read);
    draw_grid();
    exhibit_.remark = remark_on(read, static_cast<long>(store.counts().done()));
  } catch (const std::exception& error) {
    exhibit_.remark = QString::fromUtf8(error.what());
  }
}

QString SweepModel::remark_on(const std::vector<Point>& points, long all) const {
  const auto read = static_cast<long>(points.size());
  QStringList out{read < all ? tr("The first %1 of %2 configurations; `stepcast sweep export` writes all.")
                                   .arg(shown_whole(read), shown_whole(all))
                             : tr("%1.").arg(counted(read, tr("configuration"), tr("configurations")))};
  const auto none = std::count_if(points.begin(), points.end(), [](const Point& p) { return std::isnan(p.value); });
  if (none > 0)
    out << (none == 1 ? tr("1 has no such figure and is not drawn; the table says why.")
                      : tr("%1 have no such figure and are not drawn; the table says why.").arg(shown_whole(none)));
  const auto large = std::count_if(points.begin(), points.end(), [](const Point& p) { return !p.fits; });
  if (large > 0)
    out << (large == 1 ? tr("1 does not fit memory and is pale, or hatched.")
                       : tr("%1 do not fit memory and are pale, or hatched.").arg(shown_whole(large)));
  if (grid_.y.size() > kMostCurves)
    out << tr("The chart has the first %1 of %2 values of %3.").arg(kMostCurves).arg(grid_.y.size()).arg(grid_.y_name);
  return out.join(QLatin1Char(' '));
}

void SweepModel::read_rows(const ResultStore& store, std::vector<Point>& out) {
  const SweepPoints& points = store.points();
  const std::size_t figure = place_of(plain(column_));
  const MemoryOfRow memory;
  for (const std::string& path : points.paths()) exhibit_.table.headings << qt(path);
  exhibit_.table.headings << column_ << tr("Why not");
  const bool two = points.paths().size() > 1;
  std::vector<const Json*> values;
  store.each_row(
      [&](const SweepRow& row) {
        points.values(row.point, values);
        std::vector<FigureCell> cells;
        cells.reserve(values.size() + 2);
        for (const Json* value : values) cells.push_back({.text = words_of(*value)});
        const double number = figure_of(row, figure);
        const bool fits = memory.fits(row);
        cells.push_back(
            std::isnan(number)
                ? FigureCell{.text = QStringLiteral("—"), .tone = Tone::muted}
                : FigureCell{.text = shown_number(number), .number = number, .tone = fits ? Tone::plain : Tone::muted});
        const QString why = fits ? qt(row.error) : memory.excess(row);
        cells.push_back({.text = why, .tone = fits ? Tone::muted : Tone::bad, .tip = why});
        exhibit_.table.rows.push_back(std::move(cells));
        out.push_back({words_of(*values.front()), two ? words_of(*values[1]) : QString(), number, fits});
      },
      0, kMostRows);
}

void SweepModel::fill_grid(const std::vector<Point>& points) {
  QStringList x, y;
  for (const Point& point : points) {
    x << point.x;
    y << point.y;
  }
  grid_.x = sorted(x);
  grid_.y = sorted(y);
  const QHash<QString, qsizetype> column = places_in(grid_.x), row = places_in(grid_.y);
  grid_.values.assign(static_cast<std::size_t>(grid_.x.size() * grid_.y.size()), NAN);
  grid_.fits.assign(grid_.values.size(), true);
  for (const Point& point : points) {
    const auto at = static_cast<std::size_t>(row[point.y] * grid_.x.size() + column[point.x]);
    grid_.values[at] = point.value;
    grid_.fits[at] = point.fits;
  }
}

void SweepModel::draw_grid() {
  const bool two = !grid_.y_name.isEmpty(), curves = all_numbers(grid_.x);
  exhibit_.chart.kind = curves ? ChartData::Kind::lines : ChartData::Kind::grouped_bars;
  if (two) exhibit_.title = tr("%1 by %2").arg(column_, grid_.y_name);
  exhibit_.chart.x_title = grid_.x_name;
  exhibit_.chart.y_title = column_;
  exhibit_.chart.legend = two;
  if (!curves) exhibit_.chart.categories = grid_.x;
  for (qsizetype j = 0; j < std::min(grid_.y.size(), kMostCurves); ++j) {
    ChartData::Series series{.name = two ? grid_.y[j] : column_,
                             .hue = hue_of_index(static_cast<int>(j)),
                             .values = {},
                             .points = {},
                             .tips = {},
                             .muted = {}};
    for (qsizetype i = 0; i < grid_.x.size(); ++i) {
      const auto at = static_cast<std::size_t>(j * grid_.x.size() + i);
      const double value = grid_.values[at];
      const bool fits = grid_.fits[at];
      if (!curves) series.values.push_back(value);
      if (curves && std::isnan(value)) continue;
      if (curves) series.points.emplace_back(grid_.x[i].toDouble(), value);
      series.muted.push_back(!fits);
      const QString figure = std::isnan(value) ? tr("none") : shown_number(value);
      series.tips << QStringLiteral("%1 %2: %3")
                         .arg(grid_.x_name, grid_.x[i], fits ? figure : tr("%1, does not fit memory").arg(figure));
    }
    exhibit_.chart.series.push_back(std::move(series));
  }
}

}  // namespace stepcast
