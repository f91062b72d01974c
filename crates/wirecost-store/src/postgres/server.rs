//! The reference server's side of a connection.

use wirecost_proto::Phase;

use super::codec::{VERSION, backend, bind_parts, frontend, message, message_len, startup_len};
use crate::dialect::{Answer, Inserted, Reply, ServerDialect};
use crate::{Malformed, Parts, TooLong};

/// BindComplete, CommandComplete and ReadyForQuery outside a transaction.
const INSERTED: &[u8] = b"2\x00\x00\x00\x04C\x00\x00\x00\x0fINSERT 0 1\x00Z\x00\x00\x00\x05I";

/// The parameters that a client of any maker needs.
const PARAMETERS: [(&str, &str); 4] = [
    ("server_version", "15.0"),
    ("server_encoding", "UTF8"),
    ("client_encoding", "UTF8"),
    ("integer_datetimes", "on"),
];

/// A connection.
#[derive(Debug, Default)]
pub(crate) struct Conversation {
    state: State,
    /// Whether a Bind has arrived since the last Sync.
    is_bound: bool,
    /// The answers that leave with ReadyForQuery.
    pending: Vec<u8>,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    AwaitStartup,
    /// The client prepares its statement.
    Connecting,
    /// An insert has arrived.
    Inserting,
}

impl Conversation {
    fn startup(&mut self, packet: &[u8]) -> Result<Answer, Malformed> {
        if packet.get(4..8) != Some(&VERSION) {
            return Err(Malformed {
                expected: "a start-up message of version 3.0",
            });
        }
        let mut answer = Vec::new();
        message(backend::AUTHENTICATION, &mut answer, |out| out.extend([0; 4]))?;
        for (name, value) in PARAMETERS {
            message(backend::PARAMETER_STATUS, &mut answer, |out| {
                out.extend([name.as_bytes(), b"\0", value.as_bytes(), b"\0"].concat());
            })?;
        }
        message(backend::BACKEND_KEY_DATA, &mut answer, |out| out.extend([0; 8]))?;
        ready_for_query(&mut answer)?;
        self.state = State::Connecting;
        Ok(Answer::Other(answer, Phase::Connect))
    }

    const fn phase(&self) -> Phase {
        match self.state {
            State::AwaitStartup | State::Connecting => Phase::Connect,
            State::Inserting => Phase::Message,
        }
    }

    /// Takes the answers that are due at Sync.
    fn sync(&mut self) -> Result<Answer, Malformed> {
        if std::mem::take(&mut self.is_bound) {
            return Ok(Answer::Inserted(INSERTED));
        }
        let mut answer = std::mem::take(&mut self.pending);
        ready_for_query(&mut answer)?;
        Ok(Answer::Other(answer, self.phase()))
    }

    fn query(&mut self) -> Result<Answer, Malformed> {
        message(backend::COMMAND_COMPLETE, &mut self.pending, |out| {
            out.extend(b"OK\0")
        })?;
        self.sync()
    }
}

impl ServerDialect for Conversation {
    fn greeting(&mut self) -> Option<Answer> {
        None
    }

    fn packet_len(&self, bytes: &[u8]) -> Result<Option<usize>, Malformed> {
        match self.state {
            State::AwaitStartup => startup_len(bytes),
            State::Connecting | State::Inserting => message_len(bytes),
        }
    }

    fn receive(&mut self, packet: &[u8]) -> Result<Reply, Malformed> {
        let mut reply = Reply {
            parts: Parts::plain(packet.len()),
            phase: self.phase(),
            insert: None,
            answer: None,
        };
        if matches!(self.state, State::AwaitStartup) {
            reply.answer = Some(self.startup(packet)?);
            return Ok(reply);
        }
        match packet.first().copied().unwrap_or_default() {
            frontend::PARSE => message(backend::PARSE_COMPLETE, &mut self.pending, |_| {})?,
            frontend::BIND => {
                reply.parts = bind_parts(packet)?.unwrap_or(reply.parts);
                reply.insert = Some(Inserted::from_packet(packet, reply.parts));
                self.is_bound = true;
                self.state = State::Inserting;
                reply.phase = Phase::Message;
            }
            frontend::EXECUTE => {}
            frontend::SYNC => reply.answer = Some(self.sync()?),
            frontend::QUERY => reply.answer = Some(self.query()?),
            frontend::TERMINATE => reply.phase = Phase::Close,
            _ => {
                return Err(Malformed {
                    expected: "Parse, Bind, Execute, Sync, Query or Terminate",
                });
            }
        }
        Ok(reply)
    }

    fn held(&self) -> usize {
        self.pending.len()
    }
}

fn ready_for_query(out: &mut Vec<u8>) -> Result<(), TooLong> {
    message(backend::READY_FOR_QUERY, out, |out| out.push(b'I'))
}
