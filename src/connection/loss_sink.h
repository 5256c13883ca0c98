// What becomes of the things that packets carried: acknowledged, they are done;
// lost, the objects they belong to are looked at again (RFC 9000 §13.3). Given to
// LossRecovery while it handles an ACK or a timer.
#pragma once

#include "connection/core.h"

namespace quasi::connection {

class LossSink {
 public:
  explicit LossSink(Core& core) : core_(core) {}
  void on_acked(PacketSpace space, const recovery::SentRecord& record);
  void on_lost(PacketSpace space, const recovery::SentRecord& record);

 private:
  Core& core_;
};

}  // namespace quasi::connection
