// Time to draw one frame of the timeline, by slices and by how far it is zoomed in. Panning at 30 frames/s takes 33 ms.
#include <benchmark/benchmark.h>

#include <QGuiApplication>
#include <QImage>
#include <QPainter>

#include "gui/view-models/timeline_data.hpp"
#include "gui/views/timeline_painter.hpp"

namespace {

std::shared_ptr<stepcast::TimelineData> step_of(int tracks, int each) {
  auto out = std::make_shared<stepcast::TimelineData>();
  out->names = {"attention", "mlp_up", "all_reduce"};
  out->categories = {"forward", "backward", "tensor"};
  for (int t = 0; t < tracks; ++t) {
    stepcast::TimelineTrack track{QString("pipeline stage %1").arg(t / 4), QString("stream %1").arg(t % 4), t / 4, {}};
    for (int i = 0; i < each; ++i)
      track.events.push_back({.start = i * 1000,
                              .end = i * 1000 + 900,
                              .name = static_cast<std::uint32_t>(i % 3),
                              .category = static_cast<std::uint8_t>(i % 3),
                              .critical = i % 7 == 0});
    out->events += track.events.size();
    out->tracks.push_back(std::move(track));
  }
  out->end = each * 1000;
  return out;
}

/// Frames of a pan over a step: 64 streams with so many slices each, a share of the step on screen.
void pan(benchmark::State& state) {
  const auto data = step_of(64, static_cast<int>(state.range(0)));
  const stepcast::TimelinePainter painter(data);
  QImage image(1480, 900, QImage::Format_RGB32);
  const double visible = static_cast<double>(data->end) / static_cast<double>(state.range(1));
  double from = 0;
  for (auto _ : state) {
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
