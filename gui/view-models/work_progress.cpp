#include "gui/view-models/work_progress.hpp"

#include <QObject>
#include <cmath>

#include "gui/view-models/number_format.hpp"

namespace stepcast {

QString WorkProgress::words() const {
  QString out = what + QStringLiteral(" …");
  if (all <= 0) return done > 0 ? out + QStringLiteral(" %1 %2").arg(shown_whole(std::lround(done)), things) : out;
  out += QObject::tr(" %1 of %2 %3 (%4)")
             .arg(shown_whole(std::lround(done)), shown_whole(std::lround(all)), things,
                  QObject::tr("%1 %").arg(static_cast<int>(100 * share())));
  if (per_second > 0) out += QObject::tr(", %1 a second").arg(shown_count(per_second));
  if (seconds_left() >= 0) out += QObject::tr(", %1 left").arg(shown(Seconds(seconds_left())));
  return out;
}

}  // namespace stepcast
