#include "calibration/probes/gpu/device_probes.hpp"

#include <algorithm>
#include <cstring>
#include <functional>

#include "calibration/probes/common/fault.hpp"
#include "calibration/probes/common/program.hpp"
#include "calibration/probes/common/sizes.hpp"
#include "calibration/probes/gpu/host_memory.hpp"
#include "calibration/probes/gpu/timed_rows.hpp"

namespace stepcast::probes {
namespace {

std::vector<std::int64_t> sizes_up_to(std::int64_t most) {
  return parse_sizes("4K:" + std::to_string(std::max<std::int64_t>(most, 4096)) + "*4");
}

unsigned char content(std::size_t i) { return static_cast<unsigned char>(i * 31 + 7); }

std::vector<unsigned char> pattern(std::size_t bytes) {
  std::vector<unsigned char> out(bytes);
  for (std::size_t i = 0; i < bytes; ++i) out[i] = content(i);
  return out;
}

void require_pattern(const std::vector<unsigned char>& bytes, const std::string& what) {
  for (std::size_t i = 0; i < bytes.size(); ++i)
    if (bytes[i] != content(i))
      throw check_failed(what + ": wrong data: byte " + std::to_string(i) + " of " + std::to_string(bytes.size()));
}

void copy_of_size(const DeviceProbe& probe, std::size_t bytes, bool pinned, int numa_node) {
  const CudaDriver& driver = probe.device.driver();
  const CudaFunctions& f = driver.call();
  HostBuffer host(driver, bytes, pinned, numa_node);
  const DeviceBuffer memory(probe.device, bytes);
  const std::vector<unsigned char> data = pattern(bytes);
  std::memcpy(host.data(), data.data(), bytes);
  const CudaHandle stream = probe.device.stream();
  const auto down = [&] {
    driver.require(f.to_device_async(memory.address(), host.data(), bytes, stream), "copying to the device");
  };
  const auto up = [&] {
    driver.require(f.to_host_async(host.data(), memory.address(), bytes, stream), "copying from the device");
  };
  down();
  probe.device.wait();
  std::memset(host.data(), 0, bytes);
  up();
  probe.device.wait();
  require_pattern({host.data(), host.data() + bytes}, "a copy to the device and back");
  for (const bool to_device : {true, false}) {
    const double since = now_us();
    const Samples samples =
        timed(probe, to_device ? std::function<void()>(down) : std::function<void()>(up), Issue::each);
    add_row(probe,
            {{"kind", "copy"},
             {"op", to_device ? "host_to_device" : "device_to_host"},
             {"size_bytes", bytes},
             {"pinned", pinned},
             {"from", to_device ? host.part() : name_of(probe.device)},
             {"to", to_device ? name_of(probe.device) : host.part()},
             {"checked", true}},
            samples, since);
  }
}

void copy_to_peer(const DeviceProbe& probe, int peer_number, std::int64_t most_bytes) {
  const CudaDriver& driver = probe.device.driver();
  const CudaDevice peer(driver, peer_number);
  int direct = 0;
  driver.require(driver.call().peer_possible(&direct, probe.device.number(), peer_number), "asking for peer access");
  probe.device.use();
  constexpr int kAlreadyEnabled = 704;
  if (direct)
    if (const int code = driver.call().peer_enable(peer.context(), 0); code != kAlreadyEnabled)
      driver.require(code, "opening peer access");
  for (const std::int64_t size : sizes_up_to(most_bytes)) {
    const auto bytes = static_cast<std::size_t>(size);
    const DeviceBuffer from(probe.device, bytes), to(peer, bytes);
    from.fill(pattern(bytes).data(), bytes);
    probe.device.use();
    const auto copy = [&] {
      driver.require(driver.call().peer_copy(to.address(), peer.context(), from.address(), probe.device.context(),
                                             bytes, probe.device.stream()),
                     "copying to a peer");
    };
    copy();
    probe.device.wait();
    std::vector<unsigned char> arrived(bytes);
    to.read(arrived.data(), bytes);
    require_pattern(arrived, "a copy to " + name_of(peer));
    probe.device.use();
    const double since = now_us();
    const Samples samples = timed(probe, copy, Issue::each);
    Json row{{"kind", "copy"},      {"op", "peer"},   {"size_bytes", bytes}, {"from", name_of(probe.device)},
             {"to", name_of(peer)}, {"checked", true}};
    if (!direct) row["note"] = "no peer access; the copy goes through host memory";
    add_row(probe, std::move(row), samples, since);
  }
}

/// Bytes of a product's three matrices.
double bytes_of(const GemmShape& shape) {
  const GemmPrecision& precision = *gemm_precision(shape.precision);
  const auto elements = [](std::int64_t a, std::int64_t b) { return static_cast<double>(a) * static_cast<double>(b); };
  return (elements(shape.m, shape.k) + elements(shape.k, shape.n)) * static_cast<double>(precision.input_bytes) +
         elements(shape.m, shape.n) * static_cast<double>(precision.output_bytes);
}

void probe_gemm(const DeviceProbe& probe, const CublasLt& library, const GemmShape& shape) {
  const Gemm product(library, probe.device, shape);
  product.run(probe.device.stream());
  probe.device.wait();
  product.require_right();
  product.fill_with_noise();
  const double since = now_us();
  const Samples samples = timed(
      probe, [&] { product.run(probe.device.stream()); }, Issue::captured);
  add_row(probe,
          {{"kind", "gemm"},
           {"m", shape.m},
           {"n", shape.n},
           {"k", shape.k},
           {"precision", shape.precision},
           {"transposed", "tn"},
           {"device", name_of(probe.device)},
           {"checked", true}},
          samples, since);
}

}  // namespace

void probe_gemms(const DeviceProbe& probe, const std::vector<GemmShape>& shapes,
                 const std::vector<std::string>& precisions) {
  const CublasLt library;
  probe.file.versions()["cublaslt"] = library.version();
  probe.power.enter("gemm");
  for (const std::string& name : precisions) {
    if (probe.device.capability() < gemm_precision(name)->least_capability) {
      probe.file.warn(name + " is left out: this device does not have it");
      continue;
    }
    for (GemmShape shape : shapes) {
      shape.precision = name;
      const std::string words =
          std::to_string(shape.m) + "x" + std::to_string(shape.n) + "x" + std::to_string(shape.k) + " in " + name;
      if (bytes_of(shape) > 0.8 * static_cast<double>(probe.device.free_bytes())) {
        probe.file.warn(words + " is left out: it does not fit the device's free memory");
        continue;
      }
      try {
        probe_gemm(probe, library, shape);
      } catch (const Fault& fault) {
        // Devices have formats that the library multiplies in some shapes only.
        if (fault.code() != Exit::environment_missing) throw;
        probe.file.warn(words + " is left out: " + fault.what());
      }
    }
  }
}

void probe_memory(const DeviceProbe& probe, std::int64_t most_bytes) {
  probe.power.enter("memory");
  const CudaDriver& driver = probe.device.driver();
  const CudaHandle stream = probe.device.stream();
  for (const std::int64_t size : sizes_up_to(most_bytes)) {
    const auto bytes = static_cast<std::size_t>(size);
    const DeviceBuffer from(probe.device, bytes), to(probe.device, bytes);
    from.fill(pattern(bytes).data(), bytes);
    const auto copy = [&] {
      driver.require(driver.call().copy_async(to.address(), from.address(), bytes, stream), "copying device memory");
    };
    const auto set = [&] {
      driver.require(driver.call().set_async(to.address(), 0, bytes, stream), "setting device memory");
    };
    copy();
    probe.device.wait();
    std::vector<unsigned char> arrived(bytes);
    to.read(arrived.data(), bytes);
    require_pattern(arrived, "a copy of device memory");
    double since = now_us();
    add_row(probe,
            {{"kind", "memory"},
             {"op", "copy"},
             {"size_bytes", bytes},
             {"moved_bytes", 2 * bytes},
             {"device", name_of(probe.device)},
             {"checked", true}},
            timed(probe, copy, Issue::captured), since);
    since = now_us();
    add_row(probe,
            {{"kind", "memory"},
             {"op", "set"},
             {"size_bytes", bytes},
             {"moved_bytes", bytes},
             {"device", name_of(probe.device)},
             {"checked", false}},
            timed(probe, set, Issue::captured), since);
  }
}

void probe_copies(const DeviceProbe& probe, std::int64_t most_bytes) {
  probe.power.enter("copy");
  for (const int node : numa_nodes())
    for (const std::int64_t size : sizes_up_to(most_bytes))
      for (const bool pinned : {true, false}) copy_of_size(probe, static_cast<std::size_t>(size), pinned, node);
  for (int peer = 0; peer < probe.device.driver().devices(); ++peer)
    if (peer != probe.device.number()) copy_to_peer(probe, peer, most_bytes);
}

void probe_launch(const DeviceProbe& probe) {
  const CudaDriver& driver = probe.device.driver();
  const CudaFunctions& f = driver.call();
  // The driver compiles PTX of an older device for its own; newer drivers no longer take the oldest.
  const int capability = probe.device.capability();
  const char* target = capability >= 80   ? ".version 7.0\n.target sm_80\n"
                       : capability >= 70 ? ".version 6.3\n.target sm_70\n"
                                          : ".version 5.0\n.target sm_50\n";
  const std::string ptx = std::string(target) + ".address_size 64\n.visible .entry empty() { ret; }\n";
  void *module = nullptr, *kernel = nullptr;
  driver.require(f.module_load(&module, ptx.c_str()), "compiling an empty kernel");
  driver.require(f.module_function(&kernel, module, "empty"), "finding the empty kernel");
  const CudaHandle stream = probe.device.stream();
  const auto launch = [&] {
    driver.require(f.launch(kernel, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr), "launching a kernel");
  };
  constexpr int kWarmUp = 100, kInRow = 1000;
  for (int i = 0; i < kWarmUp; ++i) launch();
  probe.device.wait();
  Samples latency, rate;
  for (int i = 0; i < std::max(probe.samples, 100); ++i) {
    const double begin = now_us();
    launch();
    probe.device.wait();
    latency.us.push_back(now_us() - begin);
  }
  rate.calls = kInRow;
  for (int i = 0; i < probe.samples; ++i) {
    const double begin = now_us();
    for (int call = 0; call < kInRow; ++call) launch();
    probe.device.wait();
    rate.us.push_back((now_us() - begin) / kInRow);
  }
  add_row(probe, {{"kind", "launch"}, {"op", "latency"}, {"device", name_of(probe.device)}}, latency, now_us());
  add_row(probe, {{"kind", "launch"}, {"op", "rate"}, {"device", name_of(probe.device)}}, rate, now_us());
}

}  // namespace stepcast::probes
