//! MQTT-SN: describes each datagram on its own and recognizes repetitions.

use wirecost_mqtt::sn::codec::{Message, MessageType};
use wirecost_proto::{BothWays, Buffer, Cause, Direction};

use crate::span_list::{Piece, SpanList};

/// The messages of a flow. A client waits for an answer to each message that has one (MQTT-SN 1.2, section 6.6).
#[derive(Debug, Default)]
pub(crate) struct MqttSn {
    /// The last message of each direction that waits for an answer.
    waiting: BothWays<Vec<u8>>,
    spans: Buffer,
}

impl MqttSn {
    pub(crate) fn describe(&mut self, direction: Direction, bytes: &[u8], out: &mut SpanList) {
        let Ok(message) = Message::parse(bytes) else {
            out.leave_out(bytes.len() as u64);
            return;
        };
        let again = self.is_repetition(direction, &message, bytes);
        self.spans.clear();
        wirecost_mqtt::sn::describe(bytes, &mut self.spans);
        for span in self.spans.spans() {
            let mut span = *span;
            if again {
                span.cause = Cause::Retransmission;
            }
            out.push_piece(Piece { span, known: true });
        }
    }

    /// Whether the message repeats the last one of its direction, which nothing has answered. A PUBLISH says so itself.
    fn is_repetition(&mut self, direction: Direction, message: &Message<'_>, bytes: &[u8]) -> bool {
        self.waiting[direction.reverse()].clear();
        let waiting = &mut self.waiting[direction];
        let has_answer = matches!(
            message.kind(),
            MessageType::Connect
                | MessageType::Register
                | MessageType::Pubrel
                | MessageType::Subscribe
                | MessageType::Unsubscribe
                | MessageType::Pingreq
                | MessageType::Disconnect
        );
        if has_answer && waiting.as_slice() == bytes {
            return true;
        }
        waiting.clear();
        if has_answer {
            waiting.extend_from_slice(bytes);
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_again_before_its_answer_is_a_repetition() {
        let mut flow = MqttSn::default();
        let (up, down) = (Direction::Up, Direction::Down);
        let mut is_again = |direction, bytes: &[u8]| {
            let message = Message::parse(bytes).expect("a message");
            flow.is_repetition(direction, &message, bytes)
        };
        let (register, regack, ping) = (
            b"\x07\x0a\x00\x00\x00\x01t",
            b"\x07\x0b\x00\x01\x00\x01\x00",
            b"\x02\x16",
        );
        assert!(!is_again(up, register));
        assert!(is_again(up, register));
        assert!(!is_again(down, regack));
        assert!(!is_again(up, register));
        assert!(!is_again(up, ping));
        assert!(!is_again(down, b"\x02\x17"));
        assert!(!is_again(up, ping));
    }
}
