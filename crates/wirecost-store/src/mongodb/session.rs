//! The client's side of a connection.
//!
//! ```text
//! client                                          server
//!   hello                 -- AwaitHello   -->
//!                                             <-- its versions
//!   createIndexes         -- AwaitSetup   -->          (for each setup command)
//!                                             <-- ok
//!   insert                -- Ready        -->
//!                                             <-- ok
//! ```

use std::collections::VecDeque;

use wirecost_proto::{Buffer, Cause, Layer, PeerText, Phase};

use super::bson::{Document, Field, Fields, Integers};
use super::codec::{
    HEADER_BYTES, LARGEST_DOCUMENT, LARGEST_MESSAGE, body, document, length_field, message, message_len,
    sequence,
};
use crate::command::{Config, Failure, Refusal, Verdict};
use crate::dialect::{Dialect, Row, Step};
use crate::{Column, Malformed, Store, TABLE, TooLong, json};

/// The first version of the protocol that has OP_MSG (MongoDB 3.6).
const OLDEST_WIRE_VERSION: i32 = 6;
/// Errors about the database: Unauthorized, ShutdownInProgress, PrimarySteppedDown, NotWritablePrimary, InterruptedAtShutdown,
/// InterruptedDueToReplStateChange, NotPrimaryNoSecondaryOk, OutOfDiskSpace.
const LATER: [i32; 8] = [13, 91, 189, 10107, 11600, 11602, 13435, 14031];
/// Errors about the reading: BadValue, TypeMismatch, Overflow, DollarPrefixedFieldName, DocumentValidationFailure,
/// BSONObjectTooLarge, DuplicateKey.
const NEVER: [i32; 7] = [2, 14, 15, 52, 121, 10334, 11000];
/// The type and the name of the last field, where it is binary data.
const BINARY_PAYLOAD: &[u8] = b"\x05payload\0";
/// Type and name of a field that is called payload.
const PAYLOAD_HEAD: usize = 9;

#[derive(Debug)]
pub(crate) struct Session {
    state: State,
    name: String,
    column: Column,
    setup: VecDeque<String>,
    requests: i32,
    /// The command of an insert, without its documents.
    insert: Vec<u8>,
    /// What the server takes, in bytes.
    largest_document: usize,
    largest_message: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    AwaitHello,
    AwaitSetup,
    Ready,
}

impl Session {
    pub(crate) fn new(config: &Config) -> Self {
        let mut insert = Document::default();
        insert
            .text("insert", TABLE)
            .boolean("ordered", true)
            .text("$db", &config.name);
        Self {
            state: State::AwaitHello,
            name: config.name.clone(),
            column: config.column,
            setup: config.setup.iter().cloned().collect(),
            requests: 0,
            insert: insert.encoded(),
            largest_document: LARGEST_DOCUMENT,
            largest_message: LARGEST_MESSAGE,
        }
    }

    fn send(&mut self, command: &Document, out: &mut Vec<u8>) -> Result<(), TooLong> {
        let request = self.next_request();
        message([request, 0], 0, out, |out| body(&command.encoded(), out))
    }

    /// Learns what the server takes from its answer to `hello`.
    fn learn_limits(&mut self, hello: Fields<'_>) {
        let limit = |key, default| match hello.integer(key) {
            most @ 1.. => most as usize,
            _ => default,
        };
        self.largest_document = limit("maxBsonObjectSize", LARGEST_DOCUMENT);
        self.largest_message = limit("maxMessageSizeBytes", LARGEST_MESSAGE);
    }

    const fn next_request(&mut self) -> i32 {
        self.requests = self.requests.wrapping_add(1);
        self.requests
    }

    /// Sends the next setup command; the client is ready after the last.
    fn go_on(&mut self, out: &mut Vec<u8>) -> Result<Step, Failure> {
        let Some(text) = self.setup.pop_front() else {
            self.state = State::Ready;
            return Ok(Step::Ready);
        };
        let mut command = from_json(text.as_bytes()).ok_or(Malformed {
            expected: "setup commands in JSON",
        })?;
        command.text("$db", &self.name);
        self.send(&command, out)?;
        self.state = State::AwaitSetup;
        Ok(Step::More)
    }

    /// The field `payload` with its type and name, of which the first bytes are not payload.
    fn field(&self, content: &[u8]) -> Result<Vec<u8>, TooLong> {
        if self.column == Column::Bytes {
            let len = length_field(content.len())?;
            return Ok([BINARY_PAYLOAD, &len, &[0]].concat());
        }
        let mut field = Document::default();
        let value = serde_json::from_slice(content).ok();
        if value
            .and_then(|value| field.put("payload", &value, Integers::Eight))
            .is_none()
        {
            let mut bytes = Document::default();
            bytes.text(json::BASE64_KEY, &json::base64(content));
            field = Document::default();
            field.document("payload", &bytes);
        }
        Ok(field.fields().to_vec())
    }
}

impl Dialect for Session {
    fn packet_len(&self, bytes: &[u8]) -> Result<Option<usize>, Failure> {
        match message_len(bytes) {
            Err(_) if self.state == State::AwaitHello => Err(Failure::OtherProtocol(Store::Mongodb)),
            len => Ok(len?),
        }
    }

    fn greet(&mut self, out: &mut Vec<u8>) -> Result<(), TooLong> {
        let mut hello = Document::default();
        self.send(hello.int32("hello", 1).text("$db", "admin"), out)
    }

    fn receive(&mut self, packet: &[u8], out: &mut Vec<u8>) -> Result<Step, Failure> {
        debug_assert!(packet.len() > HEADER_BYTES, "message_len has checked it");
        let answer = document(packet)?;
        match (self.state, refusal(answer)) {
            (State::Ready, refusal) => Ok(Step::Answer(refusal.map_or(Ok(()), Err))),
            (_, Some(refusal)) => Err(Failure::Refused(refusal.words)),
            (State::AwaitHello, None) if answer.integer("maxWireVersion") < OLDEST_WIRE_VERSION => {
                Err(Failure::from(Malformed {
                    expected: "a version of MongoDB from 3.6",
                }))
            }
            (State::AwaitHello, None) => {
                self.learn_limits(answer);
                self.go_on(out)
            }
            (State::AwaitSetup, None) => self.go_on(out),
        }
    }

    fn is_ready(&self) -> bool {
        self.state == State::Ready
    }

    fn insert(&mut self, row: &Row<'_>, out: &mut Buffer) -> Result<(), TooLong> {
        let mut columns = Document::default();
        columns
            .text("sender", row.sender)
            .int64("number", row.number.cast_signed());
        if let Some(milliseconds) = row.unix_ms {
            columns.date("stored", milliseconds);
        }
        let (columns, field) = (columns.fields(), self.field(row.content.bytes())?);
        let is_binary = self.column == Column::Bytes;
        let content = if is_binary { row.content.len() } else { 0 };
        let len = 4 + columns.len() + field.len() + content + 1;
        TooLong::check("a document of this MongoDB", len, self.largest_document)?;
        let sequence = sequence(len)?;
        let request = self.next_request();
        let mut head = Vec::new();
        message([request, 0], len, &mut head, |out| {
            body(&self.insert, out);
            out.extend(sequence);
        })?;
        let whole = head.len() + len;
        TooLong::check("a message to this MongoDB", whole, self.largest_message)?;
        head.extend(length_field(len)?);
        head.extend(columns);
        let (phase, cause) = (Phase::Message, Cause::Original);
        if is_binary {
            head.extend(&field);
            out.push(&head, Layer::Application, phase, cause);
            row.content.push(0..content, phase, cause, out);
        } else {
            let (name, value) = field.split_at(PAYLOAD_HEAD.min(field.len()));
            head.extend(name);
            out.push(&head, Layer::Application, phase, cause);
            out.push(value, Layer::Payload, phase, cause);
        }
        out.push(&[0], Layer::Application, phase, cause);
        Ok(())
    }

    fn execute(&mut self, statement: &str, out: &mut Vec<u8>) -> Result<(), TooLong> {
        let mut command = from_json(statement.as_bytes()).unwrap_or_else(|| {
            let mut ping = Document::default();
            ping.int32("ping", 1);
            ping
        });
        command.text("$db", &self.name);
        self.send(&command, out)
    }

    fn bye(&self, _: &mut Vec<u8>) -> Result<(), TooLong> {
        Ok(())
    }
}

fn from_json(text: &[u8]) -> Option<Document> {
    Document::from_json(&serde_json::from_slice(text).ok()?, Integers::Shortest)
}

/// Why a command was not carried out.
fn refusal(answer: Fields<'_>) -> Option<Refusal> {
    let errors = match answer.get("writeErrors") {
        Some(Field::Array(errors)) => errors.first(),
        _ => None,
    };
    let (failed, is_written) = match (errors, answer.get("writeConcernError")) {
        (Some(Field::Document(failed)), _) => (failed, false),
        _ if answer.integer("ok") != 1 => (answer, false),
        // Written, but not by as many members as the write concern asks for: who becomes primary now may not have it.
        (_, Some(Field::Document(failed))) => (failed, true),
        _ => return None,
    };
    let code = failed.integer("code");
    let text = match failed.get("errmsg") {
        Some(Field::Text(text)) => text,
        _ => "no reason",
    };
    Some(Refusal {
        words: PeerText::new(&format!("{text} ({code})")),
        verdict: match code {
            _ if is_written => Verdict::Later,
            code if LATER.contains(&code) => Verdict::Later,
            code if NEVER.contains(&code) => Verdict::Never,
            _ => Verdict::Unknown,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What an answer of the server comes to.
    fn verdict(answer: &str) -> Option<(String, Verdict)> {
        let answer = from_json(answer.as_bytes()).expect("a document").encoded();
        let mut packet = Vec::new();
        message([1, 1], 0, &mut packet, |out| body(&answer, out)).expect("a message");
        let refusal = refusal(document(&packet).expect("a document"))?;
        Some((refusal.words.as_str().to_owned(), refusal.verdict))
    }

    #[test]
    fn what_only_some_members_have_written_is_refused_for_later() {
        assert_eq!(verdict(r#"{"n": 1, "ok": 1}"#), None);
        assert_eq!(verdict(r#"{"n": 1, "writeErrors": [], "ok": 1}"#), None);
        // ShutdownInProgress, PrimarySteppedDown, InterruptedDueToReplStateChange, WriteConcernTimeout, and a code that says nothing.
        for code in [91, 189, 11602, 64, 9_999] {
            let error = format!(r#"{{"code": {code}, "errmsg": "stepping down"}}"#);
            let said = verdict(&format!(r#"{{"n": 1, "writeConcernError": {error}, "ok": 1}}"#));
            assert_eq!(said, Some((format!("stepping down ({code})"), Verdict::Later)));
        }
        // What is wrong with the reading decides.
        let both = r#"{"n": 0, "writeErrors": [{"index": 0, "code": 121, "errmsg": "no such reading"}],
                      "writeConcernError": {"code": 189, "errmsg": "stepping down"}, "ok": 1}"#;
        assert_eq!(
            verdict(both),
            Some(("no such reading (121)".to_owned(), Verdict::Never))
        );
    }
}
