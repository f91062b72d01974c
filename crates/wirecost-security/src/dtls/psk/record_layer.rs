//! The record layer of one connection: numbers, keys, the replay window, and datagrams.

use std::collections::VecDeque;

use super::protection::{EXPLICIT_NONCE_BYTES, KeyPair, RecordKey, TAG_BYTES, push_header};
use super::window::ReplayWindow;
use crate::dtls::provider::Note;
use crate::dtls::record::{Form, HEADER_BYTES, MAX_PLAINTEXT_BYTES, Piece, Record, content, last_eight};

/// An output of the engine.
#[derive(Debug)]
pub(super) enum Out {
    Datagram(Vec<u8>),
    Plaintext(Vec<u8>),
    Connected,
    CloseNotify,
}

/// What a received record turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opened {
    /// A record; its content is in [`RecordLayer::plaintext`].
    Content { epoch: u8, content: u8 },
    /// A record of the keys' epoch that the keys do not open.
    Forged,
    /// A repetition, a record without keys, or none at all.
    Ignored,
}

/// The record layer of one connection.
pub(super) struct RecordLayer {
    mtu: usize,
    read: Option<RecordKey>,
    write: Option<RecordKey>,
    /// The next sequence number of epochs 0 and 1.
    numbers: [u64; 2],
    /// The numbers received in epoch 1. Handshake messages have numbers of their own, so that epoch 0 needs none.
    window: ReplayWindow,
    /// The connection ID in the peer's records, empty if they have none.
    pub(super) own_id: Vec<u8>,
    /// The connection ID in our records, empty if they have none.
    pub(super) peer_id: Vec<u8>,
    pub(super) notes: Vec<Note>,
    pub(super) ready: VecDeque<Out>,
    /// The content of the last record that was opened.
    pub(super) plaintext: Vec<u8>,
    /// The datagram that is being filled.
    datagram: Vec<u8>,
    /// Whether the last record opened in epoch 1 is newer than all before.
    is_newest: bool,
}

impl RecordLayer {
    pub(super) fn new(mtu: usize) -> Self {
        Self {
            mtu,
            read: None,
            write: None,
            numbers: [0; 2],
            window: ReplayWindow::default(),
            own_id: Vec::new(),
            peer_id: Vec::new(),
            notes: Vec::new(),
            ready: VecDeque::new(),
            plaintext: Vec::new(),
            datagram: Vec::new(),
            is_newest: false,
        }
    }

    /// Sets the keys of epoch 1 for a client or a server.
    pub(super) fn set_keys(&mut self, keys: KeyPair, is_server: bool) {
        let (write, read) = if is_server {
            (keys.server, keys.client)
        } else {
            (keys.client, keys.server)
        };
        self.write = Some(write);
        self.read = Some(read);
    }

    /// Begins the numbers of epoch 0 with that of the client's record (RFC 6347 section 4.2.1).
    pub(super) fn begin_with(&mut self, number: u64) {
        self.numbers[0] = number;
    }

    /// A datagram begins, of which nothing is opened yet.
    pub(super) fn begin_datagram(&mut self) {
        self.is_newest = false;
    }

    /// Whether the last record opened of the datagram is newer than all before (RFC 9146 section 6).
    pub(super) fn is_newest(&self) -> bool {
        self.is_newest
    }

    /// The most plaintext of a record in a datagram of its own.
    pub(super) fn largest_plaintext(&self, epoch: u8) -> usize {
        self.mtu
            .saturating_sub(self.overhead(epoch))
            .min(MAX_PLAINTEXT_BYTES)
    }

    fn overhead(&self, epoch: u8) -> usize {
        let protected = match (epoch, self.peer_id.len()) {
            (0, _) => 0,
            (_, 0) => EXPLICIT_NONCE_BYTES + TAG_BYTES,
            (_, id) => EXPLICIT_NONCE_BYTES + TAG_BYTES + id + 1,
        };
        HEADER_BYTES + protected
    }

    /// Appends a record to the datagram, or to a new one if it does not fit.
    pub(super) fn append(&mut self, epoch: u8, content: u8, plaintext: &[u8]) {
        if self.datagram.len() + self.overhead(epoch) + plaintext.len() > self.mtu {
            self.flush();
        }
        let sequence = &mut self.numbers[usize::from(epoch & 1)];
        let number = u64::from(epoch) << 48 | *sequence;
        *sequence += 1;
        match &self.write {
            Some(key) if epoch == 1 => {
                key.seal(content, number, &self.peer_id, plaintext, &mut self.datagram);
                self.notes
                    .push(note(content, plaintext, last_eight(&self.datagram)));
            }
            _ => {
                push_header(content, number, &[], plaintext.len(), &mut self.datagram);
                self.datagram.extend_from_slice(plaintext);
            }
        }
    }

    /// Hands the datagram out.
    pub(super) fn flush(&mut self) {
        if !self.datagram.is_empty() {
            self.ready
                .push_back(Out::Datagram(std::mem::take(&mut self.datagram)));
        }
    }

    /// Opens a record, whose content is then in [`Self::plaintext`].
    pub(super) fn open(&mut self, record: &Record<'_>) -> Opened {
        let outer = match record.form {
            Form::Plaintext { content } | Form::Protected12 { content } => content,
            Form::ConnectionId => content::CONNECTION_ID,
            Form::Protected13 { .. } | Form::Unknown => return Opened::Ignored,
        };
        let Some(number) = record.number() else {
            return Opened::Ignored;
        };
        let (epoch, sequence) = (number >> 48, number & 0xffff_ffff_ffff);
        if epoch > 1 || (epoch == 1 && !self.window.is_fresh(sequence)) {
            return Opened::Ignored;
        }
        self.plaintext.clear();
        self.plaintext.extend_from_slice(record.body());
        let content = match (epoch, &self.read) {
            (0, _) => outer,
            // A connection ID that was negotiated is in every record of epoch 1, and in no other (RFC 9146 section 4).
            (_, Some(_)) if record.connection_id() != self.own_id => return Opened::Ignored,
            (_, Some(key)) => match key.open(outer, number, &self.own_id, &mut self.plaintext) {
                Some(content) => content,
                None => return Opened::Forged,
            },
            (_, None) => return Opened::Ignored,
        };
        if epoch == 1 {
            self.is_newest = self.window.is_newest(sequence);
            self.window.take(sequence);
            self.notes.push(note(content, &self.plaintext, record.tag()));
        }
        Opened::Content {
            epoch: u8::from(epoch == 1),
            content,
        }
    }
}

fn note(content: u8, plaintext: &[u8], tag: [u8; 8]) -> Note {
    Note {
        tag,
        content,
        plaintext: plaintext.len(),
        piece: Piece::from_content(content, plaintext),
    }
}
