//! The reference server's side of a connection.

use wirecost_proto::Phase;

use super::PARAMETERS;
use super::codec::{HEADER_BYTES, VERSION, answer, command, execute_parts, packet, packet_len};
use crate::dialect::{Answer, Reply, ServerDialect};
use crate::{Malformed, Parts};

/// OK: one row, no generated number, autocommit, no warnings.
const INSERTED: &[u8] = b"\x07\x00\x00\x01\x00\x01\x00\x02\x00\x00\x00";

/// CLIENT_MYSQL, CONNECT_WITH_DB, PROTOCOL_41, TRANSACTIONS, SECURE_CONNECTION and PLUGIN_AUTH.
const CAPABILITIES: u32 = 0x1 | 0x8 | 0x200 | 0x2000 | 0x8000 | 0x8_0000;
const CHARACTER_SET: u8 = 45;
const AUTOCOMMIT: [u8; 2] = [2, 0];

/// A connection.
#[derive(Debug, Default)]
pub(crate) struct Conversation {
    is_logged_in: bool,
    is_inserting: bool,
}

impl Conversation {
    const fn phase(&self) -> Phase {
        match self.is_inserting {
            true => Phase::Message,
            false => Phase::Connect,
        }
    }

    fn ok(&self, sequence: u8) -> Answer {
        let mut bytes = Vec::new();
        packet(sequence, &mut bytes, |out| {
            out.extend([answer::OK, 0, 0]);
            out.extend(AUTOCOMMIT);
            out.extend([0; 2]);
        });
        Answer::Other(bytes, self.phase())
    }

    fn prepared(&self) -> Answer {
        let mut bytes = Vec::new();
        packet(1, &mut bytes, |out| {
            out.push(answer::OK);
            out.extend(1_u32.to_le_bytes());
            out.extend(0_u16.to_le_bytes());
            out.extend(PARAMETERS.to_le_bytes());
            out.extend([0; 3]);
        });
        for sequence in 2..2 + PARAMETERS as u8 {
            packet(sequence, &mut bytes, |out| {
                // Catalog, schema, table twice, name, name; then fields of fixed length.
                out.extend(b"\x03def\x00\x00\x00\x01?\x00\x0c\x3f\x00");
                out.extend([0, 0, 0, 0, 6, 0x80, 0, 0, 0, 0]);
            });
        }
        packet(2 + PARAMETERS as u8, &mut bytes, |out| {
            out.extend([answer::EOF, 0, 0]);
            out.extend(AUTOCOMMIT);
        });
        Answer::Other(bytes, self.phase())
    }
}

impl ServerDialect for Conversation {
    fn greeting(&mut self) -> Option<Answer> {
        let mut bytes = Vec::new();
        let [low_a, low_b, high_a, high_b] = CAPABILITIES.to_le_bytes();
        packet(0, &mut bytes, |out| {
            out.push(VERSION);
            out.extend(b"10.11.0-wirecost\0");
            out.extend([1, 0, 0, 0]);
            out.extend(b"wirecost\0");
            out.extend([low_a, low_b, CHARACTER_SET]);
            out.extend(AUTOCOMMIT);
            out.extend([high_a, high_b, 21]);
            out.extend([0; 10]);
            out.extend(b"wirecost1234\0");
            out.extend(b"mysql_native_password\0");
        });
        Some(Answer::Other(bytes, Phase::Connect))
    }

    fn packet_len(&self, bytes: &[u8]) -> Result<Option<usize>, Malformed> {
        Ok(packet_len(bytes))
    }

    fn receive(&mut self, bytes: &[u8]) -> Result<Reply, Malformed> {
        let mut reply = Reply {
            parts: Parts::plain(bytes.len()),
            phase: self.phase(),
            is_insert: false,
            answer: None,
        };
        if !self.is_logged_in {
            self.is_logged_in = true;
            reply.answer = Some(self.ok(2));
            return Ok(reply);
        }
        match bytes.get(HEADER_BYTES).copied().unwrap_or_default() {
            command::EXECUTE => {
                reply.parts = execute_parts(bytes).unwrap_or(reply.parts);
                reply.is_insert = true;
                self.is_inserting = true;
                reply.phase = Phase::Message;
                reply.answer = Some(Answer::Inserted(INSERTED));
            }
            command::PREPARE => reply.answer = Some(self.prepared()),
            command::QUERY | command::PING => reply.answer = Some(self.ok(1)),
            command::QUIT => reply.phase = Phase::Close,
            _ => {
                return Err(Malformed {
                    expected: "COM_STMT_PREPARE, COM_STMT_EXECUTE, COM_QUERY, COM_PING or COM_QUIT",
                });
            }
        }
        Ok(reply)
    }
}
