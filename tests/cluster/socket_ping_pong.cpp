// Messages there and back over one TCP connection: what latency and bandwidth are without MPI and without the probes.
//   socket-ping-pong serve PORT
//   socket-ping-pong measure ADDRESS PORT SAMPLES SIZE…    prints {"size_bytes": [half rounds in µs…], …}
// Both ends poll, as MPI's do: a process that sleeps in the kernel is woken late.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  std::exit(1);
}

void transfer(int socket, char* bytes, std::size_t size, bool sends) {
  for (std::size_t done = 0; done < size;) {
    const ssize_t count = sends ? send(socket, bytes + done, size - done, MSG_DONTWAIT | MSG_NOSIGNAL)
                                : recv(socket, bytes + done, size - done, MSG_DONTWAIT);
    if (count > 0)
      done += static_cast<std::size_t>(count);
    else if (count == 0 && !sends)
      std::exit(0);  // the other end is done
    else if (errno == EAGAIN)
      sched_yield();
    else
      fail(sends ? "send" : "recv");
  }
}

sockaddr_in address_of(const char* address, const char* port) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_port = htons(static_cast<std::uint16_t>(std::atoi(port)));
  if (inet_pton(AF_INET, address, &out.sin_addr) != 1) fail(address);
  return out;
}

void without_delay(int socket) {
  const int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

/// Every message begins with the size of the next one, so that the server needs no list.
int serve(const char* port) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in here = address_of("0.0.0.0", port);
  if (bind(listener, reinterpret_cast<sockaddr*>(&here), sizeof here) != 0 || listen(listener, 1) != 0) fail("bind");
  const int peer = accept(listener, nullptr, nullptr);
  if (peer < 0) fail("accept");
  without_delay(peer);
  std::vector<char> buffer(64);
  for (std::uint64_t size = 0;;) {
    transfer(peer, reinterpret_cast<char*>(&size), sizeof size, false);
    if (buffer.size() < size) buffer.resize(size);
    transfer(peer, buffer.data(), size - sizeof size, false);
    transfer(peer, buffer.data(), size, true);
  }
}

double now_us() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

int measure(const char* address, const char* port, int samples, const std::vector<std::size_t>& sizes) {
  int peer = -1;
  sockaddr_in there = address_of(address, port);
  for (int attempt = 0; attempt < 200; ++attempt) {  // the server may still be starting
    peer = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(peer, reinterpret_cast<sockaddr*>(&there), sizeof there) == 0) break;
    close(peer);
    peer = -1;
    usleep(20'000);
  }
  if (peer < 0) fail("connect");
  without_delay(peer);
  const char* separator = "{";
  for (const std::size_t size : sizes) {
    std::vector<char> buffer(size);
    const std::uint64_t header = size;
    std::memcpy(buffer.data(), &header, sizeof header);
    std::printf("%s\"%zu\": [", separator, size);
    constexpr int kWarmUp = 3;
    for (int i = 0; i < samples + kWarmUp; ++i) {
      const double begin = now_us();
      transfer(peer, buffer.data(), size, true);
      transfer(peer, buffer.data(), size, false);
      std::memcpy(buffer.data(), &header, sizeof header);
      if (i >= kWarmUp) std::printf("%s%.3f", i > kWarmUp ? ", " : "", (now_us() - begin) / 2);
    }
    std::printf("]");
    separator = ",\n ";
  }
  std::printf("}\n");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == "serve") return serve(argv[2]);
  std::vector<std::size_t> sizes;
  for (int i = 5; i < argc; ++i) sizes.push_back(std::strtoul(argv[i], nullptr, 10));
  bool valid = argc > 5 && std::string(argv[1]) == "measure";
  for (const std::size_t size : sizes) valid = valid && size >= sizeof(std::uint64_t) && size < (1UL << 30);
  if (valid) return measure(argv[2], argv[3], std::atoi(argv[4]), sizes);
  std::fprintf(stderr, "usage: socket-ping-pong serve PORT | measure ADDRESS PORT SAMPLES SIZE… (8 B and more)\n");
  return 2;
}
