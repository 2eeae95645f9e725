#include "report/updates_json.hpp"

#include <fmt/format.h>

#include "fields/rounded.hpp"

namespace stepcast {

namespace {

Staleness staleness_from(const Json& document) {
  Staleness out;
  out.mean = document.at("mean").get<double>();
  out.p95 = document.at("p95").get<double>();
  out.most = document.at("most").get<double>();
  out.shares = document.at("shares").get<std::vector<double>>();
  return out;
}

}  // namespace

Json staleness_json(const Staleness& staleness) {
  Json shares = Json::array();
  for (const double share : staleness.shares) shares.push_back(rounded(share));
  return {{"mean", rounded(staleness.mean)},
          {"p95", rounded(staleness.p95)},
          {"most", rounded(staleness.most)},
          {"shares", std::move(shares)}};
}

namespace {

Json actors_json(const UpdateOutcome& outcome) {
  if (!outcome.actors) return nullptr;
  return {{"copies", outcome.actors->copies},
          {"samples_per_s", rounded(outcome.actors->samples_per_s)},
          {"under_way", rounded(outcome.actors->under_way)},
          {"idle", rounded(outcome.actors->idle)},
          {"sample_s", rounded(outcome.actors->sample.value())},
          {"broadcast_s", rounded(outcome.actors->broadcast.value())}};
}

ActorOutcome actors_from(const Json& document) {
  ActorOutcome out;
  out.copies = document.at("copies").get<int>();
  out.samples_per_s = document.at("samples_per_s").get<double>();
  out.under_way = document.at("under_way").get<double>();
  out.idle = document.at("idle").get<double>();
  out.sample = Seconds(document.at("sample_s").get<double>());
  out.broadcast = Seconds(document.at("broadcast_s").get<double>());
  return out;
}

}  // namespace

Json updates_json(const UpdateOutcome& outcome) {
  return {{"mode", outcome.mode},
          {"workers", outcome.workers},
          {"servers", outcome.servers},
          {"sent_per_worker_GB", rounded(outcome.sent_per_worker.in(1_GB))},
          {"received_per_worker_GB", rounded(outcome.received_per_worker.in(1_GB))},
          {"server_busy", rounded(outcome.server_busy)},
          {"most_steps_ahead", rounded(outcome.most_ahead)},
          {"dropped_share", rounded(outcome.dropped_share)},
          {"steps_per_exchange", rounded(outcome.steps_per_exchange)},
          {"exchange_s", rounded(outcome.exchange.in(1_s))},
          {"actors", actors_json(outcome)}};
}

UpdateOutcome updates_from(const Json& prediction) {
  const Json& document = prediction.at("updates");
  UpdateOutcome out;
  out.mode = document.at("mode").get<std::string>();
  out.workers = document.at("workers").get<int>();
  out.servers = document.at("servers").get<int>();
  out.sent_per_worker = document.at("sent_per_worker_GB").get<double>() * 1_GB;
  out.received_per_worker = document.at("received_per_worker_GB").get<double>() * 1_GB;
  out.server_busy = document.at("server_busy").get<double>();
  out.most_ahead = document.at("most_steps_ahead").get<double>();
  out.dropped_share = document.at("dropped_share").get<double>();
  out.steps_per_exchange = document.at("steps_per_exchange").get<double>();
  out.exchange = Seconds(document.at("exchange_s").get<double>());
  if (const auto actors = document.find("actors"); actors != document.end() && !actors->is_null())
    out.actors = actors_from(*actors);
  if (!prediction.at("staleness").is_null()) out.staleness = staleness_from(prediction.at("staleness"));
  return out;
}

}  // namespace stepcast
