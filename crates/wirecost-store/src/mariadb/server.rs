//! The reference server's side of a connection.

use wirecost_proto::Phase;

use super::PARAMETERS;
use super::codec::{
    HEADER_BYTES, VERSION, answer, command, continued_parts, execute_parts, is_continued, packet, packet_len,
};
use crate::dialect::{Answer, Inserted, Reply, ServerDialect};
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
    /// The command of which further packets follow.
    continued: Option<Command>,
}

/// A command of the client.
#[derive(Clone, Copy, Debug)]
enum Command {
    Login,
    Prepare,
    /// What has arrived of the payload.
    Execute(Inserted),
    Query,
    Quit,
}

impl Conversation {
    const fn phase(&self) -> Phase {
        match self.is_inserting {
            true => Phase::Message,
            false => Phase::Connect,
        }
    }

    fn ok(&self, sequence: u8, rows: u8) -> Answer {
        let mut bytes = Vec::new();
        packet(sequence, &mut bytes, |out| {
            out.extend([answer::OK, rows, 0]);
            out.extend(AUTOCOMMIT);
            out.extend([0; 2]);
        });
        Answer::Other(bytes, self.phase())
    }

    /// The command that begins with this packet, and the packet's parts.
    fn begin(&mut self, bytes: &[u8]) -> Result<(Command, Parts), Malformed> {
        let plain = Parts::plain(bytes.len());
        if !std::mem::replace(&mut self.is_logged_in, true) {
            return Ok((Command::Login, plain));
        }
        Ok(match bytes.get(HEADER_BYTES).copied().unwrap_or_default() {
            command::EXECUTE => {
                self.is_inserting = true;
                let parts = execute_parts(bytes).unwrap_or(plain);
                (Command::Execute(Inserted::from_packet(bytes, parts)), parts)
            }
            command::PREPARE => (Command::Prepare, plain),
            command::QUERY | command::PING => (Command::Query, plain),
            command::QUIT => (Command::Quit, plain),
            _ => {
                return Err(Malformed {
                    expected: "COM_STMT_PREPARE, COM_STMT_EXECUTE, COM_QUERY, COM_PING or COM_QUIT",
                });
            }
        })
    }

    /// The answer to a command whose last packet has this sequence number.
    fn answer(&self, command: Command, sequence: u8) -> Option<Answer> {
        match command {
            Command::Execute(_) if sequence == 0 => Some(Answer::Inserted(INSERTED)),
            Command::Execute(_) => Some(self.ok(sequence.wrapping_add(1), 1)),
            Command::Prepare => Some(self.prepared()),
            Command::Login | Command::Query => Some(self.ok(sequence.wrapping_add(1), 0)),
            Command::Quit => None,
        }
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
        let before = self.phase();
        let (command, parts) = match self.continued.take() {
            None => self.begin(bytes)?,
            Some(Command::Execute(mut inserted)) => {
                let parts = continued_parts(bytes.len());
                inserted.payload_bytes += parts.payload as u64;
                (Command::Execute(inserted), parts)
            }
            Some(command) => (command, Parts::plain(bytes.len())),
        };
        let is_last = !is_continued(bytes.len());
        let phase = match command {
            Command::Quit => Phase::Close,
            Command::Execute(_) => Phase::Message,
            Command::Login | Command::Prepare | Command::Query => before,
        };
        let mut reply = Reply {
            parts,
            phase,
            insert: None,
            answer: None,
        };
        if !is_last {
            self.continued = Some(command);
            return Ok(reply);
        }
        if let Command::Execute(inserted) = command {
            reply.insert = Some(inserted);
        }
        let sequence = bytes.get(3).copied().unwrap_or_default();
        reply.answer = self.answer(command, sequence);
        Ok(reply)
    }
}
