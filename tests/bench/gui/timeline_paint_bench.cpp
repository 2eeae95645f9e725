// Time to draw one frame of the timeline, by slices and by how far it is zoomed in. Panning at 30 frames/s takes 33 ms.
#include <benchmark/benchmark.h>

#include <QGuiApplication>
#include <QImage>
#include <QPainter>

#include "gui/views/timeline_painter.hpp"
#include "tests/gui/timeline_step.hpp"

namespace {

/// Frames of a pan over a step: 64 streams with so many slices each, a share of the step on screen.
void pan(benchmark::State& state) {
  const auto data = stepcast::timeline_step(64, static_cast<int>(state.range(0)));
  const stepcast::TimelinePainter painter(data);
  QImage image(1480, 900, QImage::Format_RGB32);
  const double visible = static_cast<double>(data->end) / static_cast<double>(state.range(1));
  double from = 0;
  for ([[maybe_unused]] const auto _ : state) {
    from = from + visible < static_cast<double>(data->end) ? from + visible / 50 : 0;
    QPainter to(&image);
    painter.paint(to, image.size(), {.from = from, .to = from + visible});
  }
  state.SetLabel(std::to_string(data->events) + " slices, 1/" + std::to_string(state.range(1)) +
                 " of the step on screen");
}
BENCHMARK(pan)->Args({1600, 1})->Args({1600, 10})->Args({1600, 100})->Args({40000, 1})->Unit(benchmark::kMillisecond);

}  // namespace

int main(int argc, char** argv) {
  qputenv("QT_QPA_PLATFORM", "offscreen");
  const QGuiApplication application(argc, argv);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
