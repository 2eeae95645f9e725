#pragma once

class QProcess;

namespace stepcast {

/// Ends a process that nobody listens to any more, without waiting for it: it is reaped when it has died, while the
/// window goes on; at the latest when the program ends. Owns it from here on.
void abandon(QProcess* process);

}  // namespace stepcast
