#include <string>

#include "fields/field_table.hpp"
#include "units/calendar.hpp"

namespace stepcast::detail {

namespace {

constexpr std::array<int, 5> kTime{1, 0, 0, 0, 0};
constexpr std::array<int, 5> kData{0, 1, 0, 0, 0};
constexpr std::array<int, 5> kDataRate{-1, 1, 0, 0, 0};
constexpr std::array<int, 5> kWork{0, 0, 1, 0, 0};
constexpr std::array<int, 5> kWorkRate{-1, 0, 1, 0, 0};
constexpr std::array<int, 5> kRate{-1, 0, 0, 0, 0};
constexpr std::array<int, 5> kEnergy{0, 0, 0, 1, 0};
constexpr std::array<int, 5> kPower{-1, 0, 0, 1, 0};
constexpr std::array<int, 5> kMoney{0, 0, 0, 0, 1};
constexpr std::array<int, 5> kMoneyRate{-1, 0, 0, 0, 1};
constexpr std::array<int, 5> kMoneyPerEnergy{0, 0, 0, -1, 1};

constexpr double kHour = 3600;
constexpr double kYear = 365.25 * 86400;

// Longer units first: `usd_per_h` before `h`.
constexpr std::array kUnits{
    UnitOfKey{1 / kMonth.value(), kMoneyRate, "usd_per_month"},
    UnitOfKey{1 / kYear, kMoneyRate, "usd_per_year"},
    UnitOfKey{1 / kHour, kMoneyRate, "usd_per_h"},
    UnitOfKey{1 / 3.6e6, kMoneyPerEnergy, "usd_per_kWh"},
    UnitOfKey{1, kMoney, "usd"},
    UnitOfKey{1e12, kWorkRate, "TFLOPS"},
    UnitOfKey{1e9, kWorkRate, "GFLOPS"},
    UnitOfKey{1e9, kWork, "GFLOPs"},
    UnitOfKey{1e9, kDataRate, "GBps"},
    UnitOfKey{1e6, kDataRate, "MBps"},
    UnitOfKey{1048576, kDataRate, "MiBps"},
    UnitOfKey{1e9 / 8, kDataRate, "Gbps"},
    UnitOfKey{1e6 / 8, kDataRate, "Mbps"},
    UnitOfKey{1e12 / 8, kDataRate, "Tbps"},
    UnitOfKey{1e12, kData, "TB"},
    UnitOfKey{1e9, kData, "GB"},
    UnitOfKey{1e6, kData, "MB"},
    UnitOfKey{1e3, kData, "kB"},
    UnitOfKey{1073741824, kData, "GiB"},
    UnitOfKey{1048576, kData, "MiB"},
    UnitOfKey{1024, kData, "KiB"},
    UnitOfKey{1, kData, "bytes"},
    UnitOfKey{1e9, kRate, "GHz"},
    UnitOfKey{1e6, kRate, "MHz"},
    UnitOfKey{1e3, kRate, "kIOPS"},
    UnitOfKey{1e3, kPower, "kW"},
    UnitOfKey{1, kPower, "W"},
    UnitOfKey{3.6e6, kEnergy, "kWh"},
    UnitOfKey{1, kEnergy, "J"},
    UnitOfKey{1e-9, kTime, "ns"},
    UnitOfKey{1e-6, kTime, "us"},
    UnitOfKey{1e-3, kTime, "ms"},
    UnitOfKey{1, kTime, "s"},
    UnitOfKey{kHour, kTime, "h"},
    UnitOfKey{86400, kTime, "days"},
    UnitOfKey{kYear, kTime, "years"},
};

}  // namespace

UnitOfKey unit_of_key(std::string_view key) {
  for (const UnitOfKey& unit : kUnits)
    if (key == unit.unit || key.ends_with("_" + std::string(unit.unit))) return unit;
  throw std::logic_error(fmt::format("field {}: a quantity's key must end in its unit", key));
}

}  // namespace stepcast::detail
