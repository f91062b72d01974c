//! The client's side of a connection.
//!
//! ```text
//! client                                          server
//!   StartupMessage        -- Login        -->
//!                                             <-- AuthenticationSASL
//!   SASLInitialResponse   -- AwaitContinue -->          (not where the server trusts the client)
//!                                             <-- AuthenticationSASLContinue
//!   SASLResponse          -- AwaitFinal   -->
//!                                             <-- AuthenticationSASLFinal
//!                         -- AwaitReady
//!                                             <-- AuthenticationOk, ParameterStatus ..., ReadyForQuery
//!   Query                 -- AwaitReady   -->          (for each setup statement)
//!                                             <-- CommandComplete, ReadyForQuery
//!   Parse, Sync           -- AwaitReady   -->
//!                                             <-- ParseComplete, ReadyForQuery
//!   Bind, Execute, Sync   -- Ready        -->
//!                                             <-- BindComplete, CommandComplete, ReadyForQuery
//!   Terminate                             -->
//! ```

use std::collections::VecDeque;

use wirecost_proto::{Buffer, Cause, Layer, PeerText, Phase};

use super::codec::{
    HEADER_BYTES, Report, VERSION, backend, frontend, length, message, message_len, with_length,
};
use super::{STATEMENT, insert};
use crate::command::{Config, Failure, Refusal, Verdict};
use crate::dialect::{Dialect, Row, Step};
use crate::reader::Reader;
use crate::{Column, Malformed, Store, TooLong, scram};

/// Identifiers of types (pg_type.dat): text, bigint, bytea, jsonb.
const TEXT: u32 = 25;
const INT8: u32 = 20;
const BYTEA: u32 = 17;
const JSONB: u32 = 3802;

/// The version of jsonb's binary form, its first byte (src/backend/utils/adt/jsonb.c, jsonb_recv).
const JSONB_VERSION: u8 = 1;

/// Execute of the unnamed portal without a limit of rows, and Sync.
const EXECUTE_AND_SYNC: [u8; 15] = *b"E\x00\x00\x00\x09\x00\x00\x00\x00\x00S\x00\x00\x00\x04";

#[derive(Debug)]
pub(crate) struct Session {
    state: State,
    user: String,
    password: Option<String>,
    name: String,
    nonce: [u8; 18],
    column: Column,
    setup: VecDeque<String>,
    /// Why the current command failed, until ReadyForQuery.
    refusal: Option<Refusal>,
}

#[derive(Debug)]
enum State {
    Login,
    AwaitContinue(scram::Client),
    AwaitFinal(scram::Verifier),
    /// ReadyForQuery follows: of the login, of a setup statement, or of Parse.
    AwaitReady {
        is_prepared: bool,
    },
    Ready,
}

impl Session {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            state: State::Login,
            user: config.user.clone(),
            password: config.password.clone(),
            name: config.name.clone(),
            nonce: config.nonce,
            column: config.column,
            setup: config.setup.iter().cloned().collect(),
            refusal: None,
        }
    }

    fn authentication(&mut self, content: &[u8], out: &mut Vec<u8>) -> Result<Step, Failure> {
        let mut reader = Reader::new(content);
        let kind = u32::from_be_bytes(reader.array("a kind of authentication")?);
        match (kind, &self.state) {
            (0, State::Login | State::AwaitReady { .. }) => {
                self.state = State::AwaitReady { is_prepared: false }
            }
            (10, State::Login) => self.choose(reader, out)?,
            (11, State::AwaitContinue(client)) => {
                let password = self.password.as_deref().ok_or(Failure::NoPassword)?;
                let (last, verifier) = client
                    .last(text(reader.rest())?, password)
                    .map_err(scram_failure)?;
                self.state = State::AwaitFinal(verifier);
                message(frontend::PASSWORD, out, |out| out.extend(last.as_bytes()))?;
            }
            (12, State::AwaitFinal(verifier)) => {
                verifier.verify(text(reader.rest())?).map_err(scram_failure)?;
                self.state = State::AwaitReady { is_prepared: false };
            }
            (3, State::Login) => {
                return Err(Failure::Method(PeerText::from_bytes(b"a password in clear text")));
            }
            (5, State::Login) => return Err(Failure::Method(PeerText::from_bytes(b"MD5"))),
            (kind, State::Login) => return Err(Failure::Method(PeerText::new(&format!("method {kind}")))),
            _ => {
                return Err(Failure::from(Malformed {
                    expected: "messages of SASL in their order",
                }));
            }
        }
        Ok(Step::More)
    }

    /// Begins SCRAM-SHA-256, if the server offers it.
    fn choose(&mut self, mut reader: Reader<'_>, out: &mut Vec<u8>) -> Result<(), Failure> {
        let mut offered = Vec::new();
        while let Ok(name) = reader.until_zero("a mechanism") {
            offered.push(name);
        }
        if !offered.contains(&scram::MECHANISM.as_bytes()) {
            return Err(Failure::Method(PeerText::from_bytes(&offered.join(&b' '))));
        }
        if self.password.is_none() {
            return Err(Failure::NoPassword);
        }
        let client = scram::Client::new("", &self.nonce);
        let first = client.first();
        let count = length(first.len())?;
        message(frontend::PASSWORD, out, |out| {
            out.extend(scram::MECHANISM.as_bytes());
            out.push(0);
            out.extend(count);
            out.extend(first.as_bytes());
        })?;
        self.state = State::AwaitContinue(client);
        Ok(())
    }

    fn ready_for_query(&mut self, out: &mut Vec<u8>) -> Result<Step, Failure> {
        let refusal = self.refusal.take();
        let is_prepared = match self.state {
            State::Ready => return Ok(Step::Answer(refusal.map_or(Ok(()), Err))),
            State::AwaitReady { is_prepared } => is_prepared,
            State::Login | State::AwaitContinue(_) | State::AwaitFinal(_) => {
                return Err(Failure::from(Malformed {
                    expected: "AuthenticationOk before ReadyForQuery",
                }));
            }
        };
        if let Some(refusal) = refusal {
            return Err(Failure::Refused(refusal.words));
        }
        if is_prepared {
            self.state = State::Ready;
            return Ok(Step::Ready);
        }
        match self.setup.pop_front() {
            Some(statement) => self.execute(&statement, out)?,
            None => {
                self.prepare(out)?;
                self.state = State::AwaitReady { is_prepared: true };
            }
        }
        Ok(Step::More)
    }

    fn prepare(&self, out: &mut Vec<u8>) -> Result<(), TooLong> {
        message(frontend::PARSE, out, |out| {
            out.extend(STATEMENT);
            out.extend(insert().as_bytes());
            out.push(0);
            out.extend(3_u16.to_be_bytes());
            let payload = match self.column {
                Column::Bytes => BYTEA,
                Column::Json => JSONB,
            };
            for kind in [TEXT, INT8, payload] {
                out.extend(kind.to_be_bytes());
            }
        })?;
        message(frontend::SYNC, out, |_| {})
    }
}

impl Dialect for Session {
    fn packet_len(&self, bytes: &[u8]) -> Result<Option<usize>, Failure> {
        let is_known = bytes.first().is_none_or(|kind| match self.state {
            State::Login => matches!(*kind, backend::AUTHENTICATION | backend::ERROR_RESPONSE),
            _ => backend::name(*kind).is_some(),
        });
        match message_len(bytes) {
            Ok(len) if is_known => Ok(len),
            _ if matches!(self.state, State::Login) => Err(Failure::OtherProtocol(Store::Postgres)),
            Err(malformed) => Err(malformed.into()),
            Ok(_) => Err(Failure::from(Malformed {
                expected: "a type of message",
            })),
        }
    }

    fn greet(&mut self, out: &mut Vec<u8>) -> Result<(), TooLong> {
        with_length(out, |out| {
            out.extend(VERSION);
            for text in ["user", &self.user, "database", &self.name, ""] {
                out.extend(text.as_bytes());
                out.push(0);
            }
        })
    }

    fn receive(&mut self, packet: &[u8], out: &mut Vec<u8>) -> Result<Step, Failure> {
        let content = packet.get(HEADER_BYTES..).unwrap_or_default();
        match packet.first().copied().unwrap_or_default() {
            backend::AUTHENTICATION => self.authentication(content, out),
            backend::READY_FOR_QUERY => self.ready_for_query(out),
            backend::ERROR_RESPONSE => {
                let report = Report::read(content);
                let refusal = Refusal {
                    words: PeerText::from_bytes(&[report.message, b" (", report.code, b")"].concat()),
                    verdict: verdict(report.code),
                };
                let is_login = !matches!(self.state, State::Ready | State::AwaitReady { .. });
                if report.is_fatal() || is_login {
                    return Err(Failure::Refused(refusal.words));
                }
                self.refusal.get_or_insert(refusal);
                Ok(Step::More)
            }
            _ => Ok(Step::More),
        }
    }

    fn is_ready(&self) -> bool {
        matches!(self.state, State::Ready)
    }

    fn insert(&mut self, row: &Row<'_>, out: &mut Buffer) -> Result<(), TooLong> {
        let version: &[u8] = match self.column {
            Column::Bytes => &[],
            Column::Json => &[JSONB_VERSION],
        };
        let payload = row.content.len() + version.len();
        // The unnamed portal; one format, binary, for all parameters; three parameters.
        let head: [&[u8]; 3] = [&[0], STATEMENT, &[0, 1, 0, 1, 0, 3]];
        let head_len: usize = head.iter().map(|part| part.len()).sum();
        let fields = 4 + row.sender.len() + 4 + 8 + 4;
        // Results have the default format; there are none.
        let len = length(4 + head_len + fields + payload + 2)?;
        // Shorter than the message that they are part of.
        let [sender, number, payload] = [length(row.sender.len())?, length(8)?, length(payload)?];
        out.push_with(Layer::Application, Phase::Message, Cause::Original, |out| {
            out.push(frontend::BIND);
            out.extend(len);
            out.extend(head.into_iter().flatten());
            out.extend(sender);
            out.extend(row.sender.as_bytes());
            out.extend(number);
            out.extend(row.number.to_be_bytes());
            out.extend(payload);
            out.extend(version);
        });
        row.content
            .push(0..row.content.len(), Phase::Message, Cause::Original, out);
        out.push_with(Layer::Application, Phase::Message, Cause::Original, |out| {
            out.extend([0; 2]);
            out.extend(EXECUTE_AND_SYNC);
        });
        Ok(())
    }

    fn execute(&mut self, statement: &str, out: &mut Vec<u8>) -> Result<(), TooLong> {
        message(frontend::QUERY, out, |out| {
            out.extend(statement.as_bytes());
            out.push(0);
        })
    }

    fn bye(&self, out: &mut Vec<u8>) -> Result<(), TooLong> {
        message(frontend::TERMINATE, out, |_| {})
    }
}

/// What an SQLSTATE says, by its class (PostgreSQL documentation, appendix A).
fn verdict(code: &[u8]) -> Verdict {
    match code.get(..2).unwrap_or_default() {
        // Data exception, integrity constraint, program limit.
        b"22" | b"23" | b"54" => Verdict::Never,
        // Transaction state (a server that is read-only), rollback; no such table, no right; no resources; state, operator,
        // system error.
        b"25" | b"40" | b"42" | b"53" | b"55" | b"57" | b"58" => Verdict::Later,
        _ => Verdict::Unknown,
    }
}

fn text(bytes: &[u8]) -> Result<&str, Failure> {
    std::str::from_utf8(bytes).map_err(|_| {
        Failure::from(Malformed {
            expected: "SASL messages in UTF-8",
        })
    })
}

fn scram_failure(error: scram::Error) -> Failure {
    Failure::Scram(error.to_string())
}
