//! The reference server's side of a connection.

use wirecost_proto::Phase;

use super::bson::Document;
use super::codec::{
    LARGEST_DOCUMENT, LARGEST_MESSAGE, body, command, insert_parts, message, message_len, request,
};
use crate::dialect::{Answer, Inserted, Reply, ServerDialect};
use crate::{Malformed, Parts};

/// The version of MongoDB 7.0.
const WIRE_VERSION: i32 = 21;

/// A connection.
#[derive(Debug, Default)]
pub(crate) struct Conversation {
    is_inserting: bool,
    requests: i32,
}

impl Conversation {
    fn answer(&mut self, answers: i32, document: &Document) -> Result<Answer, Malformed> {
        self.requests = self.requests.wrapping_add(1);
        let mut bytes = Vec::new();
        message([self.requests, answers], 0, &mut bytes, |out| {
            body(&document.encoded(), out);
        })?;
        let phase = match self.is_inserting {
            true => Phase::Message,
            false => Phase::Connect,
        };
        Ok(Answer::Other(bytes, phase))
    }
}

impl ServerDialect for Conversation {
    fn greeting(&mut self) -> Option<Answer> {
        None
    }

    fn packet_len(&self, bytes: &[u8]) -> Result<Option<usize>, Malformed> {
        message_len(bytes)
    }

    fn receive(&mut self, packet: &[u8]) -> Result<Reply, Malformed> {
        let name = command(packet).ok_or(Malformed {
            expected: "a command",
        })?;
        let is_insert = name == b"insert";
        self.is_inserting |= is_insert;
        let mut document = Document::default();
        match name {
            b"hello" | b"isMaster" | b"ismaster" => {
                document
                    .boolean("isWritablePrimary", true)
                    .int32("maxBsonObjectSize", LARGEST_DOCUMENT as i32)
                    .int32("maxMessageSizeBytes", LARGEST_MESSAGE as i32)
                    .int32("maxWriteBatchSize", 100_000)
                    .int32("minWireVersion", 0)
                    .int32("maxWireVersion", WIRE_VERSION)
                    .boolean("readOnly", false);
            }
            b"insert" => {
                document.int32("n", 1);
            }
            _ => {}
        }
        document.double("ok", 1.0);
        let plain = Parts::plain(packet.len());
        let parts = match is_insert {
            true => insert_parts(packet).unwrap_or(plain),
            false => plain,
        };
        Ok(Reply {
            parts,
            phase: if self.is_inserting {
                Phase::Message
            } else {
                Phase::Connect
            },
            insert: is_insert.then(|| Inserted::from_packet(packet, parts)),
            answer: Some(self.answer(request(packet), &document)?),
        })
    }
}
