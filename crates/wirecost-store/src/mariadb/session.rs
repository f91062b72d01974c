//! The client's side of a connection.
//!
//! ```text
//! client                                          server
//!                         -- AwaitHandshake
//!                                             <-- Handshake
//!   HandshakeResponse     -- AwaitLogin   -->
//!                                             <-- OK, or AuthSwitchRequest and OK after its answer
//!   COM_QUERY             -- AwaitSetup   -->          (for each setup statement)
//!                                             <-- OK
//!   COM_STMT_PREPARE      -- AwaitPrepared -->
//!                                             <-- OK, three definitions, EOF
//!   COM_STMT_EXECUTE      -- Ready        -->
//!                                             <-- OK
//!   COM_QUIT                              -->
//! ```

use std::collections::VecDeque;

use aws_lc_rs::digest::{Context, SHA1_FOR_LEGACY_USE_ONLY};
use wirecost_proto::{Buffer, Cause, Layer, PeerText, Phase};

use super::codec::{
    HEADER_BYTES, Handshake, VERSION, answer, command, error, headers, length_encoded, packet, packet_len,
};
use super::{PARAMETERS, insert};
use crate::command::{Config, Failure, Refusal, Verdict};
use crate::dialect::{Dialect, Row, Step};
use crate::reader::Reader;
use crate::{Column, Malformed, Store, TooLong};

/// CLIENT_MYSQL, CONNECT_WITH_DB, PROTOCOL_41, TRANSACTIONS, SECURE_CONNECTION and PLUGIN_AUTH.
const CAPABILITIES: u32 = 0x1 | 0x8 | 0x200 | 0x2000 | 0x8000 | 0x8_0000;
/// The largest packet that the client takes.
const LARGEST_PACKET: u32 = 1 << 24;
/// utf8mb4_general_ci.
const CHARACTER_SET: u8 = 45;

/// The way to prove a password that both servers have.
const PLUGIN: &[u8] = b"mysql_native_password";

/// Errors about the database: ER_DISK_FULL, ER_OUT_OF_RESOURCES, ER_RECORD_FILE_FULL; ER_OUTOFMEMORY; ER_SERVER_SHUTDOWN;
/// ER_TABLEACCESS_DENIED_ERROR, ER_NO_SUCH_TABLE; ER_LOCK_WAIT_TIMEOUT, ER_LOCK_DEADLOCK; ER_OPTION_PREVENTS_STATEMENT.
const LATER: [u16; 10] = [1021, 1041, 1114, 1037, 1053, 1142, 1146, 1205, 1213, 1290];
/// Errors about the reading: ER_BAD_NULL_ERROR, ER_DUP_ENTRY, ER_NET_PACKET_TOO_LARGE, ER_WARN_DATA_OUT_OF_RANGE,
/// ER_WARN_ALLOWED_PACKET_OVERFLOWED, ER_TRUNCATED_WRONG_VALUE_FOR_FIELD, ER_DATA_TOO_LONG, ER_CONSTRAINT_FAILED.
const NEVER: [u16; 8] = [1048, 1062, 1153, 1264, 1301, 1366, 1406, 4025];

/// Types of parameters: BIGINT, LONGBLOB, VARCHAR.
const LONGLONG: u8 = 0x08;
const LONG_BLOB: u8 = 0xfb;
const VAR_STRING: u8 = 0xfd;

#[derive(Debug)]
pub(crate) struct Session {
    state: State,
    user: String,
    password: Option<String>,
    name: String,
    column: Column,
    setup: VecDeque<String>,
    /// The number of the prepared statement.
    statement: u32,
    /// Whether the server knows the types of the parameters.
    has_types: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    AwaitHandshake,
    AwaitLogin,
    AwaitSetup,
    AwaitPrepared,
    /// So many definitions follow, EOF included.
    AwaitDefinitions(u16),
    Ready,
}

impl Session {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            state: State::AwaitHandshake,
            user: config.user.clone(),
            password: config.password.clone(),
            name: config.name.clone(),
            column: config.column,
            setup: config.setup.iter().cloned().collect(),
            statement: 0,
            has_types: false,
        }
    }

    fn log_in(&mut self, handshake: Handshake, sequence: u8, out: &mut Vec<u8>) {
        packet(sequence, out, |out| {
            out.extend(CAPABILITIES.to_le_bytes());
            out.extend(LARGEST_PACKET.to_le_bytes());
            out.push(CHARACTER_SET);
            out.extend([0; 23]);
            out.extend(self.user.as_bytes());
            out.push(0);
            let proof = self.proof(&handshake.scramble);
            out.push(proof.len() as u8);
            out.extend(proof);
            out.extend(self.name.as_bytes());
            out.push(0);
            out.extend(PLUGIN);
            out.push(0);
        });
        self.state = State::AwaitLogin;
    }

    /// SHA1(password) XOR SHA1(scramble, SHA1(SHA1(password))); nothing for no password.
    fn proof(&self, scramble: &[u8]) -> Vec<u8> {
        let Some(password) = &self.password else {
            return Vec::new();
        };
        let once = sha1(&[password.as_bytes()]);
        let twice = sha1(&[&once]);
        let mask = sha1(&[scramble, &twice]);
        once.iter().zip(mask).map(|(byte, mask)| byte ^ mask).collect()
    }

    /// The server wants another way to authenticate.
    fn switch(&self, content: &[u8], sequence: u8, out: &mut Vec<u8>) -> Result<Step, Failure> {
        let mut reader = Reader::new(content.get(1..).unwrap_or_default());
        let plugin = reader.until_zero("the name of a way to authenticate")?;
        if plugin != PLUGIN {
            return Err(Failure::Method(PeerText::from_bytes(plugin)));
        }
        let scramble = reader.take(20, "a scramble of 20 bytes")?;
        packet(sequence, out, |out| out.extend(self.proof(scramble)));
        Ok(Step::More)
    }

    /// Sends the next setup statement, or prepares the insert.
    fn go_on(&mut self, out: &mut Vec<u8>) -> Result<Step, Failure> {
        match self.setup.pop_front() {
            Some(statement) => {
                self.execute(&statement, out)?;
                self.state = State::AwaitSetup;
            }
            None => {
                packet(0, out, |out| {
                    out.push(command::PREPARE);
                    out.extend(insert().as_bytes());
                });
                self.state = State::AwaitPrepared;
            }
        }
        Ok(Step::More)
    }

    fn prepared(&mut self, content: &[u8]) -> Result<Step, Failure> {
        let mut reader = Reader::new(content.get(1..).unwrap_or_default());
        self.statement = u32::from_le_bytes(reader.array("the number of a statement")?);
        let columns = u16::from_le_bytes(reader.array("a count of columns")?);
        let parameters = u16::from_le_bytes(reader.array("a count of parameters")?);
        if (columns, parameters) != (0, PARAMETERS) {
            return Err(Failure::from(Malformed {
                expected: "a statement with three parameters and no columns",
            }));
        }
        self.state = State::AwaitDefinitions(PARAMETERS + 1);
        Ok(Step::More)
    }

    const fn types(&self) -> [u8; 6] {
        let payload = match self.column {
            Column::Bytes => LONG_BLOB,
            Column::Json => VAR_STRING,
        };
        [VAR_STRING, 0, LONGLONG, 0, payload, 0]
    }
}

impl Dialect for Session {
    fn packet_len(&self, bytes: &[u8]) -> Result<Option<usize>, Failure> {
        let first = matches!(self.state, State::AwaitHandshake);
        let is_other = bytes.get(3).is_some_and(|sequence| *sequence != 0)
            || bytes
                .get(4)
                .is_some_and(|kind| ![VERSION, answer::ERR].contains(kind));
        match packet_len(bytes) {
            Some(_) if first && is_other => Err(Failure::OtherProtocol(Store::Mariadb)),
            // The first byte of the content tells what the packet is.
            Some(_) if first && bytes.len() <= HEADER_BYTES => Ok(None),
            len => Ok(len),
        }
    }

    fn greet(&mut self, _: &mut Vec<u8>) -> Result<(), TooLong> {
        Ok(())
    }

    fn receive(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<Step, Failure> {
        let content = bytes.get(HEADER_BYTES..).unwrap_or_default();
        let sequence = bytes.get(3).map_or(0, |sequence| sequence.wrapping_add(1));
        let kind = content.first().copied().unwrap_or_default();
        if kind == answer::ERR {
            let (code, words) = error(content);
            let words = PeerText::from_bytes(&words);
            let verdict = verdict(code);
            return match self.state {
                State::Ready => Ok(Step::Answer(Err(Refusal { words, verdict }))),
                _ => Err(Failure::Refused(words)),
            };
        }
        match (self.state, kind) {
            (State::AwaitHandshake, _) => {
                self.log_in(Handshake::read(content)?, sequence, out);
                Ok(Step::More)
            }
            (State::AwaitLogin, answer::EOF) => self.switch(content, sequence, out),
            (State::AwaitLogin | State::AwaitSetup, answer::OK) => self.go_on(out),
            (State::AwaitPrepared, answer::OK) => self.prepared(content),
            (State::AwaitDefinitions(1), _) => {
                self.state = State::Ready;
                Ok(Step::Ready)
            }
            (State::AwaitDefinitions(left), _) => {
                self.state = State::AwaitDefinitions(left - 1);
                Ok(Step::More)
            }
            (State::Ready, answer::OK) => Ok(Step::Answer(Ok(()))),
            _ => Err(Failure::from(Malformed {
                expected: "OK or ERR",
            })),
        }
    }

    fn is_ready(&self) -> bool {
        self.state == State::Ready
    }

    fn insert(&mut self, row: &Row<'_>, out: &mut Buffer) -> Result<(), TooLong> {
        let payload = row.content.len();
        let types = self.types();
        // The server keeps the types of the first execution.
        let types: &[u8] = match std::mem::replace(&mut self.has_types, true) {
            true => &[],
            false => &types,
        };
        let mut head = vec![command::EXECUTE];
        head.extend(self.statement.to_le_bytes());
        // No cursor; one iteration; no parameter is NULL.
        head.extend([0, 1, 0, 0, 0, 0]);
        head.push(u8::from(!types.is_empty()));
        head.extend(types);
        length_encoded(row.sender.len(), &mut head);
        head.extend(row.sender.as_bytes());
        head.extend(row.number.to_le_bytes());
        length_encoded(payload, &mut head);
        let (phase, cause) = (Phase::Message, Cause::Original);
        let mut begin = 0;
        for (header, len) in headers(0, head.len() + payload) {
            let end = begin + len;
            out.push(&header, Layer::Application, phase, cause);
            let of_head = head.get(begin..end.min(head.len())).unwrap_or_default();
            out.push(of_head, Layer::Application, phase, cause);
            let of_payload = [begin, end].map(|at| at.saturating_sub(head.len()));
            row.content.push(of_payload[0]..of_payload[1], phase, cause, out);
            begin = end;
        }
        Ok(())
    }

    fn execute(&mut self, statement: &str, out: &mut Vec<u8>) -> Result<(), TooLong> {
        packet(0, out, |out| {
            out.push(command::QUERY);
            out.extend(statement.as_bytes());
        });
        Ok(())
    }

    fn bye(&self, out: &mut Vec<u8>) -> Result<(), TooLong> {
        packet(0, out, |out| out.push(command::QUIT));
        Ok(())
    }
}

fn verdict(code: u16) -> Verdict {
    match code {
        code if LATER.contains(&code) => Verdict::Later,
        code if NEVER.contains(&code) => Verdict::Never,
        _ => Verdict::Unknown,
    }
}

fn sha1(parts: &[&[u8]]) -> [u8; 20] {
    let mut context = Context::new(&SHA1_FOR_LEGACY_USE_ONLY);
    parts.iter().for_each(|part| context.update(part));
    let mut digest = [0; 20];
    digest.copy_from_slice(context.finish().as_ref());
    digest
}
