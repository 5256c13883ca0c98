// Acknowledged and lost records (see loss_sink.h).
#include "connection/loss_sink.h"

namespace quasi::connection {

using recovery::RecordKind;
using recovery::SentRecord;

void LossSink::on_acked(PacketSpace space, const SentRecord& record) {
  switch (record.kind) {
    case RecordKind::ack:
      core_.space(space).acks.on_ack_acked(record.offset);
      return;
    case RecordKind::crypto:
      core_.space(space).crypto.on_acked(record.offset, record.length);
      return;
    case RecordKind::retire_connection_id:
      core_.remote_cids.on_retire_acked(record.id);
      return;
    case RecordKind::mtu_probe:
      core_.mtu.on_probe_acked(record.length);
      core_.recovery_mtu_changed = true;
      return;
    case RecordKind::handshake_done:
      core_.wants_handshake_done = false;
      return;
    case RecordKind::new_token:
      core_.wants_new_token = false;
      return;
    default:
      (void)core_.streams.on_acked(record);  // what is not the streams' is done
  }
}

void LossSink::on_lost(PacketSpace space, const SentRecord& record) {
  switch (record.kind) {
    case RecordKind::crypto:
      core_.space(space).crypto.on_lost(record.offset, record.length);
      return;
    case RecordKind::new_connection_id:
      core_.local_cids.on_frame_lost(record.id);
      return;
    case RecordKind::retire_connection_id:
      core_.remote_cids.on_retire_lost(record.id);
      return;
    case RecordKind::mtu_probe:
      core_.mtu.on_probe_lost(record.length);
      return;
    case RecordKind::handshake_done:
      core_.wants_handshake_done = true;
      return;
    case RecordKind::new_token:
      core_.wants_new_token = true;
      return;
    case RecordKind::path_challenge:
      // RFC 9000 §8.2.1: again while the validation is open.
      if (core_.path.challenge) core_.path.wants_challenge = true;
      return;
    default:
      (void)core_.streams.on_lost(record);  // the rest is not repeated
  }
}

}  // namespace quasi::connection
