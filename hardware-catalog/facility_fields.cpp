#include "hardware-catalog/part_table.hpp"
#include "hardware-catalog/parts.hpp"

namespace stepcast {

using namespace part_rules;

namespace {

/// Fans that draw more than all that they cool. 40 mm fans of dense air-cooled servers draw 20 % (cooling dgx-air).
constexpr double kMostFanPercent = 50;
/// For 1000 node-days: one of a thousand nodes in a million days; each node every minute and a half.
constexpr double kLeastInterruptions = 1e-6, kMostInterruptions = 1e6;

}  // namespace

const FieldTable<Psu>& Psu::fields() {
  static const FieldTable<Psu> table =
      PartTable<Psu>("power supply", "Efficiency curve of a kind of power supply")
          .field("id", &Psu::id, "Name of the file", required())
          .field("level", &Psu::level, "80 PLUS level, or kind", required())
          .field("line", &Psu::line, "Supply that the curve was certified on")
          .field("efficiency_percent_by_load_percent", &Psu::efficiency_percent_by_load_percent,
                 "Efficiency in per cent by load in per cent of the rating",
                 [] {
                   Rules rules = between(1, 100);
                   rules.required = true;
                   return rules;
                 }())
          .fields_of(&Psu::provenance);
  return table;
}

const FieldTable<Cooling>& Cooling::fields() {
  static const FieldTable<Cooling> table =
      PartTable<Cooling>("cooling", "A kind of cooling")
          .field("id", &Cooling::id, "Name of the file", required())
          .field("pue_low", &Cooling::pue_low, "Lowest power usage effectiveness reported", a_pue())
          .field("pue_high", &Cooling::pue_high, "Highest power usage effectiveness reported", a_pue())
          .field("server_fan_share_of_IT_percent", &Cooling::server_fan_share_of_IT_percent,
                 "Server fans, in per cent of IT power", between(0, kMostFanPercent))
          .field("max_rack_kW", &Cooling::max_rack_power, "Highest power of a rack", positive())
          .field("figures", &Cooling::figures, "Further figures, by name with unit")
          .field("labels", &Cooling::labels, "Further words, by name")
          .fields_of(&Cooling::provenance);
  return table;
}

const FieldTable<Site>& Site::fields() {
  static const FieldTable<Site> table =
      PartTable<Site>("site", "Where the cluster stands: PUE, electricity price and grid carbon")
          .field("id", &Site::id, "Name of the file", required())
          .field("kind", &Site::kind, "region, or the figure that it states: pue, electricity, grid", required())
          .field("place", &Site::place, "Place")
          .field("country", &Site::country, "Country")
          .field("pue", &Site::pue, "Power usage effectiveness", a_pue())
          .field("electricity_usd_per_kWh", &Site::electricity, "Industrial price of electricity", positive())
          .field("electricity_year", &Site::electricity_year, "Year of that price; 0: not stated", a_year())
          .field("grid_gCO2_per_kWh", &Site::grid_gCO2_per_kWh, "Grid average carbon intensity", at_least(0))
          .field("country_grid_gCO2_per_kWh", &Site::country_grid_gCO2_per_kWh, "The same of the whole country",
                 at_least(0))
          .field("grid_year", &Site::grid_year, "Year of the carbon figures; 0: not stated", a_year())
          .field("carbon_free_share", &Site::carbon_free_share, "Carbon-free energy, matched hour by hour", share())
          .field("year", &Site::year, "Year of the PUE; 0: not stated", a_year())
          .field("figures", &Site::figures, "Further figures, by name with unit")
          .fields_of(&Site::provenance);
  return table;
}

namespace {

template <class Record>
void add_subject(PartTable<Record>& table) {
  table.field("id", &Record::id, "Name of the file", required())
      .field("accelerator", &Record::accelerator, "Accelerator that the evidence is of", refers_to("accelerators"))
      .field("node", &Record::node, "Node that the evidence is of", refers_to("nodes"));
}

template <class Record>
void add_evidence(PartTable<Record>& table) {
  table.field("figures", &Record::figures, "Figures by name with unit")
      .field("labels", &Record::labels, "Words by name")
      .field("curves", &Record::curves, "Curves named x_to_y: y by x")
      .fields_of(&Record::provenance);
}

}  // namespace

const FieldTable<ReliabilityRecord>& ReliabilityRecord::fields() {
  using R = ReliabilityRecord;
  static const FieldTable<R> kTable = [] {
    PartTable<R> table("reliability record", "Published evidence on failures, recovery and spot capacity");
    add_subject(table);
    table.field("provider", &R::provider, "Cloud that the evidence is of, as nodes name it")
        .field("instance", &R::instance, "The provider's name for what the evidence is of")
        .field("notice_s", &R::notice, "Between the notice and the end of a spot instance", at_least(0))
        .field("interruptions_per_1000_node_days", &R::interruptions_per_1000_node_days,
               "Unexpected interruptions of jobs for every 1000 nodes and days, for run.reliability.published",
               between(kLeastInterruptions, kMostInterruptions));
    add_evidence(table);
    return table;
  }();
  return kTable;
}

const FieldTable<PowerRecord>& PowerRecord::fields() {
  static const FieldTable<PowerRecord> kTable = [] {
    PartTable<PowerRecord> table("power record", "Published evidence on power: measured, idle, capped");
    add_subject(table);
    add_evidence(table);
    return table;
  }();
  return kTable;
}

}  // namespace stepcast
