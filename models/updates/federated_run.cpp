#include "models/updates/federated_run.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "models/updates/random_draw.hpp"

namespace stepcast {

namespace {

constexpr int kFederatedRounds = 30;

// Keys, signatures and encrypted shares that a client sends for each other client: 250 to 300 bytes (Bonawitz et al.
// 2017, from their expansion figures).
constexpr double kBytesPerPeer = 275;
// Values are quantised to 16 bits before they are masked (the same).
constexpr double kRange = 65536;
// Expanding one mask: AES-CTR at about 1 GB/s of one core, four bytes an element; one key agreement: 0.1 ms. Estimated.
constexpr double kMaskBytesPerSecond = 1e9;
constexpr double kKeyAgreementSeconds = 1e-4;
// Advertise keys, share keys, masked input, unmasking.
constexpr int kMessages = 4;

/// Subjects of random draws: the choice of a round's clients, and the clients themselves from here on.
constexpr std::uint64_t kChoice = 1, kFirstClient = 2;
/// Draws of one round stay below this number, so that those of another never meet them.
constexpr std::uint64_t kDrawsOfRound = 1ULL << 40U;

constexpr Seconds kNever{1e300};

/// When flows of one size that begin at these times have all ended, each, over a link that they share evenly and a
/// limit of their own.
std::vector<Seconds> ends_of(std::vector<Seconds> begins, Bytes size, BytesPerSecond own, BytesPerSecond shared) {
  std::vector<std::size_t> order(begins.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return begins[a] != begins[b] ? begins[a] < begins[b] : a < b; });
  // What each has got grows alike, so who began first ends first.
  std::vector<Seconds> ends(begins.size());
  Seconds now;
  Bytes served;
  std::size_t begun = 0, ended = 0;
  std::vector<Bytes> target(begins.size());
  while (ended < order.size()) {
    const auto active = static_cast<double>(begun - ended);
    const BytesPerSecond rate = active > 0 ? std::min(own, shared / active) : own;
    const Seconds next_end = active > 0 ? now + (target[order[ended]] - served) / rate : kNever;
    const Seconds next_begin = begun < order.size() ? begins[order[begun]] : kNever;
    const Seconds next = std::max(now, std::min(next_end, next_begin));
    if (active > 0) served += rate * (next - now);
    now = next;
    if (begun < order.size() && next_begin <= next_end) {
      target[order[begun]] = served + size;
      ++begun;
    } else {
      ends[order[ended]] = now;
      ++ended;
    }
  }
  return ends;
}

}  // namespace

SecureAggregation secure_aggregation(int clients, double parameters) {
  SecureAggregation out;
  const double bits = std::ceil(std::log2(clients * (kRange - 1) + 1));
  out.upload = Bytes(parameters * bits / 8 + kBytesPerPeer * clients);
  const double mask = 4 * parameters / kMaskBytesPerSecond;
  out.client = Seconds(clients * (mask + kKeyAgreementSeconds));
  out.server = Seconds(clients * mask);
  out.messages = kMessages;
  return out;
}

std::vector<std::uint64_t> clients_of_round(const RandomDraw& draw, int round, std::size_t selected,
                                            std::uint64_t population) {
  // Fisher and Yates' shuffle as far as it is needed; of all other places only those that were swapped are kept.
  std::map<std::uint64_t, std::uint64_t> swapped;
  const auto client_at = [&](std::uint64_t place) {
    const auto found = swapped.find(place);
    return found == swapped.end() ? place : found->second;
  };
  std::vector<std::uint64_t> clients;
  for (std::uint64_t c = 0; c < selected; ++c) {
    const double uniform = draw.uniform(kChoice, static_cast<std::uint64_t>(round) * kDrawsOfRound + c);
    const auto place = c + static_cast<std::uint64_t>(uniform * static_cast<double>(population - c));
    clients.push_back(client_at(place));
    swapped[place] = client_at(c);
  }
  return clients;
}

FederatedRun run_federated(const FederatedJob& job) {
  const RandomDraw draw(job.seed);
  const FederatedSpec& spec = job.spec;
  const auto selected = static_cast<std::size_t>(job.selected);
  const auto population = static_cast<std::uint64_t>(std::max<long>(spec.clients.value_or(job.selected), job.selected));
  SecureAggregation secure;
  if (spec.secure_aggregation) secure = secure_aggregation(job.selected, job.parameters);
  const Bytes upload = spec.secure_aggregation ? secure.upload : job.upload;
  // The model down, the result up, and what secure aggregation exchanges besides.
  const Seconds messages = spec.latency * static_cast<double>(2 * secure.messages);

  FederatedRun out;
  for (int round = 0; round < kFederatedRounds; ++round) {
    const std::vector<Seconds> down = ends_of(std::vector<Seconds>(selected), job.download, spec.download, spec.server);
    const std::vector<std::uint64_t> clients = clients_of_round(draw, round, selected, population);
    std::vector<Seconds> done(selected);
    for (std::size_t c = 0; c < selected; ++c) {
      const std::uint64_t client = clients[c] + kFirstClient;
      // A client is as fast in every round, but for what differs from round to round.
      const double slowness = draw.factor(spec.speed_spread, client, 0) *
                              draw.factor(job.step_spread, client, static_cast<std::uint64_t>(round) + 1);
      const Seconds work = job.busy * (job.local_steps * slowness) + job.compressing + secure.client;
      done[c] = down[c] + work;
      out.local_work += work;
    }
    const std::vector<Seconds> up = ends_of(done, upload, spec.upload, spec.server);
    const Seconds last = *std::max_element(up.begin(), up.end());
    for (std::size_t c = 0; c < selected; ++c) {
      out.transfer += down[c] + (up[c] - done[c]) + messages;
      out.wait += last - up[c];
    }
    out.round += last + messages + job.aggregation + secure.server;
  }
  const double clients = static_cast<double>(kFederatedRounds) * static_cast<double>(selected);
  out.round = out.round / static_cast<double>(kFederatedRounds);
  out.local_work = out.local_work / clients;
  out.transfer = out.transfer / clients;
  out.wait = out.wait / clients;
  out.aggregation = job.aggregation + secure.server;
  out.sent_per_client = upload;
  return out;
}

}  // namespace stepcast
