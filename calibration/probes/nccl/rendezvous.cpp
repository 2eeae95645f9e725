#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

#include "calibration/probes/common/fault.hpp"
#include "calibration/probes/common/program.hpp"
#include "calibration/probes/nccl/launch.hpp"

namespace stepcast::probes {
namespace {

/// A socket that is closed with its owner.
class Socket {
 public:
  explicit Socket(int number) : number_(number) {}
  ~Socket() {
    if (number_ >= 0) close(number_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  [[nodiscard]] int number() const { return number_; }

 private:
  int number_;
};

bool moved(int socket, char* bytes, std::size_t size, bool sends) {
  for (std::size_t done = 0; done < size;) {
    const ssize_t count =
        sends ? send(socket, bytes + done, size - done, MSG_NOSIGNAL) : recv(socket, bytes + done, size - done, 0);
    if (count <= 0) return false;
    done += static_cast<std::size_t>(count);
  }
  return true;
}

/// What a caller says first, so that a stranger or a process of an earlier run is told from ours: fixed length.
std::string greeting(const LaunchPlace& place) {
  std::string out = "stepcast-probe-nccl " + place.run;
  out.resize(96, '\0');
  return out;
}

void limit_waiting(int socket, int seconds) {
  const timeval limit{seconds, 0};
  setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
}

Fault late(const Rendezvous& rendezvous, const std::string& where, const std::string& missing_ones) {
  return check_failed("the processes did not meet at " + where + " in " + std::to_string(rendezvous.timeout_s) +
                      " s: " + missing_ones);
}

NcclId serve(const NcclId& mine, const LaunchPlace& place, const Rendezvous& rendezvous, std::uint16_t port) {
  const Socket listener(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1, off = 0;
  setsockopt(listener.number(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  setsockopt(listener.number(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  sockaddr_in6 here{};
  here.sin6_family = AF_INET6;
  here.sin6_port = htons(port);
  here.sin6_addr = in6addr_any;
  if (bind(listener.number(), reinterpret_cast<sockaddr*>(&here), sizeof here) != 0 ||
      listen(listener.number(), place.processes) != 0)
    throw check_failed("port " + std::to_string(port) + " cannot be used for the rendezvous: " + std::strerror(errno));
  limit_waiting(listener.number(), rendezvous.timeout_s);
  for (int met = 1; met < place.processes;) {
    const Socket peer(accept(listener.number(), nullptr, nullptr));
    if (peer.number() < 0)
      throw late(rendezvous, rendezvous.address,
                 std::to_string(place.processes - met) + " of " + std::to_string(place.processes) + " never called");
    limit_waiting(peer.number(), rendezvous.timeout_s);
    std::string said(greeting(place).size(), '\0');
    NcclId id = mine;
    if (moved(peer.number(), said.data(), said.size(), false) && said == greeting(place) &&
        moved(peer.number(), id.bytes, sizeof id.bytes, true))
      ++met;
  }
  return mine;
}

NcclId call(const LaunchPlace& place, const Rendezvous& rendezvous, const std::string& host, const std::string& port) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0 || !found)
    throw check_failed("--rendezvous: the host \"" + host + "\" is not known here");
  const double deadline = now_us() + rendezvous.timeout_s * 1e6;
  NcclId id{};
  bool done = false;
  for (; !done && now_us() < deadline; usleep(100'000))
    for (const addrinfo* at = found; at && !done; at = at->ai_next) {
      const Socket peer(socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
      if (connect(peer.number(), at->ai_addr, at->ai_addrlen) != 0) continue;
      limit_waiting(peer.number(), rendezvous.timeout_s);
      std::string said = greeting(place);
      done = moved(peer.number(), said.data(), said.size(), true) &&
             moved(peer.number(), id.bytes, sizeof id.bytes, false);
    }
  freeaddrinfo(found);
  if (!done) throw late(rendezvous, rendezvous.address, "rank 0 does not answer");
  return id;
}

NcclId by_tcp(const NcclId& mine, const LaunchPlace& place, const Rendezvous& rendezvous) {
  const std::size_t colon = rendezvous.address.rfind(':');
  const std::string host = rendezvous.address.substr(0, colon), port = rendezvous.address.substr(colon + 1);
  const int number = std::atoi(port.c_str());
  if (number < 1 || number > 65535) throw bad_input("--rendezvous: \"" + port + "\" is no port");
  return place.rank == 0 ? serve(mine, place, rendezvous, static_cast<std::uint16_t>(number))
                         : call(place, rendezvous, host, port);
}

/// The file has the greeting and the identifier; rank 0 renames it into place, so that none reads half of it.
NcclId by_file(const NcclId& mine, const LaunchPlace& place, const Rendezvous& rendezvous) {
  const std::string hello = greeting(place);
  if (place.rank == 0) {
    const std::string unfinished = rendezvous.file + ".partial";
    {
      std::ofstream out(unfinished, std::ios::binary);
      out << hello;
      out.write(mine.bytes, sizeof mine.bytes);
      out.flush();
      if (!out) throw bad_input("--id-file: " + rendezvous.file + " cannot be written");
    }
    if (std::rename(unfinished.c_str(), rendezvous.file.c_str()) != 0)
      throw bad_input("--id-file: " + rendezvous.file + " cannot be written");
    return mine;
  }
  for (const double deadline = now_us() + rendezvous.timeout_s * 1e6; now_us() < deadline; usleep(100'000)) {
    std::ostringstream text;
    text << std::ifstream(rendezvous.file, std::ios::binary).rdbuf();
    const std::string content = text.str();
    NcclId id{};
    if (content.size() != hello.size() + sizeof id.bytes || content.compare(0, hello.size(), hello) != 0) continue;
    std::memcpy(id.bytes, content.data() + hello.size(), sizeof id.bytes);
    return id;
  }
  throw late(rendezvous, rendezvous.file,
             "rank 0 wrote nothing of this run there; is it on a file system that all hosts share?");
}

}  // namespace

NcclId shared_id(const NcclId& mine, const LaunchPlace& place, const Rendezvous& rendezvous) {
  if (place.processes == 1) return mine;
  return rendezvous.file.empty() ? by_tcp(mine, place, rendezvous) : by_file(mine, place, rendezvous);
}

}  // namespace stepcast::probes
