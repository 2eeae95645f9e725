#include "tests/fuzz/command_target.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <stdexcept>

#include "cli/command_line.hpp"

namespace stepcast {

namespace {

constexpr int kDone = 0, kCheckFailed = 1, kBadInput = 2;

/// Standard output and error of this process, for as long as it lives.
class CapturedStreams {
 public:
  CapturedStreams() : errors_(::memfd_create("errors", MFD_CLOEXEC)), null_(::open("/dev/null", O_WRONLY | O_CLOEXEC)) {
    std::fflush(stdout);
    std::fflush(stderr);
    out_ = ::dup(1);
    err_ = ::dup(2);
    ::dup2(null_, 1);
    ::dup2(errors_, 2);
  }
  ~CapturedStreams() {
    std::fflush(stdout);
    std::fflush(stderr);
    ::dup2(out_, 1);
    ::dup2(err_, 2);
    for (const int descriptor : {out_, err_, errors_, null_}) ::close(descriptor);
  }
  CapturedStreams(const CapturedStreams&) = delete;
  CapturedStreams& operator=(const CapturedStreams&) = delete;
  [[nodiscard]] std::string errors() const {
    std::fflush(stderr);
    std::string out(4096, '\0');
    const ssize_t size = ::pread(errors_, out.data(), out.size(), 0);
    out.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
    return out;
  }

 private:
  int errors_, null_, out_ = -1, err_ = -1;
};

/// Files of this process in a folder that lies in memory where there is one.
std::filesystem::path scratch(const std::string& name) {
  static const std::filesystem::path folder = [] {
    const std::filesystem::path memory = "/dev/shm";
    const auto base = std::filesystem::is_directory(memory) ? memory : std::filesystem::temp_directory_path();
    auto out = base / fmt::format("stepcast-fuzz-{}", ::getpid());
    std::filesystem::create_directories(out);
    return out;
  }();
  return folder / name;
}

std::string write_input(const CommandTarget& target, const std::uint8_t* data, std::size_t size) {
  const std::filesystem::path path = scratch(target.input);
  std::filesystem::create_directories(path.parent_path());
  const std::string file = path.string();
  std::FILE* stream = std::fopen(file.c_str(), "wb");
  if (stream == nullptr) throw std::runtime_error("no scratch file");
  std::fwrite(data, 1, size, stream);
  std::fclose(stream);
  return file;
}

}  // namespace

const CommandTarget& command_target(const std::string& name) {
  std::vector<std::string> names;
  for (const CommandTarget& target : command_targets()) {
    if (target.name == name) return target;
    names.push_back(target.name);
  }
  throw std::invalid_argument(fmt::format("no target \"{}\"; there are {}", name, fmt::join(names, ", ")));
}

void run_command_target(const CommandTarget& target, const std::uint8_t* data, std::size_t size) {
  const std::string file = write_input(target, data, size);
  std::vector<std::string> words{"stepcast"};
  for (std::string word : target.arguments) {
    if (word == "FILE") word = file;
    if (word == "OUT") word = scratch("output.json").string();
    words.push_back(word);
  }
  std::vector<const char*> arguments;
  for (const std::string& word : words) arguments.push_back(word.c_str());
  int code = kDone;
  std::string errors;
  {
    const CapturedStreams streams;
    code = run_command_line(static_cast<int>(arguments.size()), arguments.data());
    errors = streams.errors();
  }
  if (code == kDone || code == kCheckFailed) return;
  if (code != kBadInput) throw std::logic_error(fmt::format("exit code {}: {}", code, errors));
  if (errors.empty()) throw std::logic_error("bad input, but nothing says what is wrong");
}

}  // namespace stepcast
