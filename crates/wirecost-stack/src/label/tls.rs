//! Records of TLS (RFC 8446 section 5.1, RFC 5246 section 6.2).

use wirecost_proto::Phase;
use wirecost_security::tls::record::{ContentType, HEADER_BYTES, Header};

use super::{Content, handshake, push_new};

/// The records that begin in a segment; empty where its content does not begin with a record.
///
/// `may_be_ticket`: a protected handshake message of the sender is a ticket, because the handshake is complete.
pub(super) fn records(content: &Content<'_>, may_be_ticket: bool) -> Vec<String> {
    let mut names = Vec::new();
    let mut at = 0;
    while let Some(rest) = content.bytes.get(at..)
        && let Ok(Some(header)) = Header::parse(rest)
    {
        let record = Record {
            header,
            at,
            bytes: rest.get(..header.record_bytes()).unwrap_or(rest),
        };
        record.name(content, may_be_ticket, &mut names);
        at += header.record_bytes();
    }
    names
}

/// A record, or as much of it as the segment holds.
struct Record<'a> {
    header: Header,
    at: usize,
    bytes: &'a [u8],
}

impl Record<'_> {
    fn name(&self, content: &Content<'_>, may_be_ticket: bool, names: &mut Vec<String>) {
        match self.header.content_type {
            ContentType::ChangeCipherSpec => names.push(handshake::CHANGE_CIPHER_SPEC.into()),
            ContentType::Alert => names.push("alert".into()),
            ContentType::Handshake => self.handshake(names),
            ContentType::ApplicationData => push_new(names, self.protected(content, may_be_ticket, names)),
        }
    }

    /// Handshake messages in plaintext, or the one that follows a ChangeCipherSpec.
    fn handshake(&self, names: &mut Vec<String>) {
        if names
            .last()
            .is_some_and(|name| name == handshake::CHANGE_CIPHER_SPEC)
        {
            names.push(handshake::FINISHED.into());
            return;
        }
        let is_whole = self.bytes.len() == self.header.record_bytes();
        let fragment = self.bytes.get(HEADER_BYTES..).unwrap_or_default();
        let messages = handshake::messages(fragment, is_whole);
        if messages.is_empty() {
            push_new(names, handshake::ENCRYPTED.into());
        }
        names.extend(messages.into_iter().map(str::to_owned));
    }

    /// The name of a protected record, from its spans. In TLS 1.3 every protected record has the type of application data (RFC 8446
    /// section 5.2).
    fn protected(&self, content: &Content<'_>, may_be_ticket: bool, before: &[String]) -> String {
        let range = self.at..self.at + self.bytes.len();
        let closes = content
            .spans_of(range.clone())
            .all(|span| span.phase == Phase::Close);
        // Early data follows the ClientHello (RFC 8446 section 2.3).
        let is_early = before.first().is_some_and(|name| name == "ClientHello");
        match content.has_data(range) {
            true if is_early => format!("0-RTT data {} B", self.header.record_bytes()),
            true => format!("TLS data {} B", self.header.record_bytes()),
            false if closes => "alert (encrypted)".into(),
            false if may_be_ticket => "ticket".into(),
            false => handshake::ENCRYPTED.into(),
        }
    }
}
