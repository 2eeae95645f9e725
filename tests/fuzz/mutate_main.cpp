// A fuzzer for compilers without libFuzzer: seeds, then their mutations, for so many seconds. Not guided by coverage,
// but deterministic and everywhere.
//   command_fuzz TARGET SECONDS [SEED]
// An input that is not answered properly is kept as crash-TARGET in the folder of temporary files; a hang is the
// caller's to notice.
#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "tests/fuzz/command_target.hpp"

namespace {

using stepcast::CommandTarget;
using Bytes = std::vector<std::uint8_t>;

constexpr std::size_t kMostBytes = 1 << 16;
/// No answer may take longer: "an error in under a second", and twenty times that on a busy machine.
constexpr unsigned kMostSeconds = 20;

std::string kept_file;
Bytes current;

void keep(const char* why) {
  std::ofstream(kept_file, std::ios::binary).write(reinterpret_cast<const char*>(current.data()), std::ssize(current));
  fmt::print(stderr, "{}; the input is kept in {}\n", why, kept_file);
}

void on_signal(int number) {
  keep(number == SIGALRM ? "no answer in time" : "died");
  std::_Exit(1);
}

Bytes read(const std::string& file) {
  std::ifstream stream(STEPCAST_SOURCE_DIR "/" + file, std::ios::binary);
  if (!stream) throw std::runtime_error("no seed " + file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

class Mutator {
 public:
  Mutator(std::vector<Bytes> seeds, unsigned seed) : seeds_(std::move(seeds)), random_(seed) {}

  Bytes next() {
    Bytes out = seeds_[below(seeds_.size())];
    for (std::size_t i = 1 + below(6); i > 0; --i) change(out);
    if (out.size() > kMostBytes) out.resize(kMostBytes);
    return out;
  }

 private:
  std::size_t below(std::size_t n) { return n == 0 ? 0 : random_() % n; }

  void change(Bytes& out) {
    const std::size_t at = below(out.size() + 1), count = std::min(out.size() - at, 1 + below(64));
    const auto place = out.begin() + static_cast<std::ptrdiff_t>(at);
    switch (below(7)) {
      case 0:  // flip bits
        if (at < out.size()) out[at] ^= static_cast<std::uint8_t>(1u << below(8));
        break;
      case 1:  // any byte
        if (at < out.size()) out[at] = static_cast<std::uint8_t>(below(256));
        break;
      case 2:  // cut out
        out.erase(place, place + static_cast<std::ptrdiff_t>(count));
        break;
      case 3: {  // twice
        const Bytes piece(place, place + static_cast<std::ptrdiff_t>(count));
        out.insert(place, piece.begin(), piece.end());
        break;
      }
      case 4: {  // a piece of another seed
        const Bytes& other = seeds_[below(seeds_.size())];
        const std::size_t from = below(other.size() + 1), size = std::min(other.size() - from, 1 + below(256));
        const auto begin = other.begin() + static_cast<std::ptrdiff_t>(from);
        out.insert(place, begin, begin + static_cast<std::ptrdiff_t>(size));
        break;
      }
      case 5: {  // a word that parsers trip over
        static const std::vector<std::string> words{
            "-1",      "0",    "1e999", "-0",    "nan",      "9223372036854775808",
            "null",    "{}",   "[]",    "\"\"",  "[[[[[[[[", "{\"a\":",
            "\\u0000", "\xff", ",",     "\n",    "\r\n",     "<",
            ">",       "\t",   "true",  "1e-400"};
        const std::string& word = words[below(words.size())];
        out.insert(place, word.begin(), word.end());
        break;
      }
      default:  // the end is missing
        if (below(4) == 0) out.resize(at);
    }
  }

  std::vector<Bytes> seeds_;
  std::mt19937 random_;
};

void run_one(const CommandTarget& target, Bytes input) {
  current = std::move(input);
  ::alarm(kMostSeconds);
  try {
    stepcast::run_command_target(target, current.data(), current.size());
  } catch (const std::exception& error) {
    keep(error.what());
    std::exit(1);
  }
  ::alarm(0);
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) {
    fmt::print(stderr, "usage: command_fuzz TARGET SECONDS [SEED]\n");
    return 2;
  }
  const CommandTarget& target = stepcast::command_target(arguments[1]);
  kept_file = (std::filesystem::temp_directory_path() / ("crash-" + target.name)).string();
  for (const int number : {SIGSEGV, SIGABRT, SIGFPE, SIGBUS, SIGILL, SIGALRM}) std::signal(number, on_signal);
  std::vector<Bytes> seeds;
  for (const std::string& file : target.seeds) seeds.push_back(read(file));
  long runs = 0;
  for (const Bytes& seed : seeds) run_one(target, seed), ++runs;
  Mutator mutator(std::move(seeds), count > 3 ? static_cast<unsigned>(std::atoi(arguments[3])) : 1);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(std::atoi(arguments[2]));
  while (std::chrono::steady_clock::now() < end) run_one(target, mutator.next()), ++runs;
  fmt::print("{}: {} inputs, each with a result or errors\n", target.name, runs);
  return 0;
}
