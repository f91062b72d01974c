//! Keys that note the packets that they encrypt and decrypt. Only they see the frames of a packet unencrypted.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::BytesMut;
use quinn_proto::crypto::{CryptoError, HeaderKey, KeyPair, Keys, PacketKey};

use super::frame::{Frame, Kind, frames};
use super::packet::Type;

/// A packet that was encrypted or decrypted.
#[derive(Clone, Debug)]
pub(crate) struct Packet {
    /// Type.
    pub(crate) kind: Type,
    /// The full packet number.
    pub(crate) number: u64,
    /// Bytes of the header, packet number included.
    pub(crate) header: usize,
    /// The frames, end to end after the header.
    pub(crate) frames: Vec<Frame>,
    /// The frames' bytes, if the packet was decrypted.
    pub(crate) plain: Vec<u8>,
    /// Bytes of the authentication tag.
    pub(crate) tag: usize,
}

impl Packet {
    /// A packet without its frames' bytes.
    pub(crate) fn new(number: u64, header: &[u8], plain: &[u8], tag: usize) -> Self {
        Self {
            kind: Type::from_first(header.first().copied().unwrap_or_default()),
            number,
            header: header.len(),
            frames: frames(plain).collect(),
            plain: Vec::new(),
            tag,
        }
    }

    /// Bytes of the whole packet.
    pub(crate) fn len(&self) -> usize {
        let frames: usize = self.frames.iter().map(Frame::total).sum();
        self.header + frames + self.tag
    }
}

/// The packets that an endpoint's keys have seen since the last query. Clones share them.
///
/// An endpoint handles one input at a time, so one tap serves all its connections.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tap {
    seen: Arc<Mutex<Seen>>,
    /// Whether to note only the streams that ended instead of whole packets.
    is_brief: bool,
}

#[derive(Debug, Default)]
struct Seen {
    sealed: Vec<Packet>,
    opened: Vec<Packet>,
    /// Streams whose end was encrypted, if packets are not noted.
    ended: Vec<u64>,
    fault: Option<rustls::Error>,
}

impl Tap {
    /// A tap that notes packets only if `describes`.
    pub(crate) fn new(describes: bool) -> Self {
        Self {
            is_brief: !describes,
            ..Self::default()
        }
    }

    /// Moves the streams whose end was encrypted to `ended`.
    pub(crate) fn take_ended(&self, ended: &mut Vec<u64>) {
        ended.append(&mut self.seen().ended);
    }

    fn note_sealed(&self, number: u64, header: &[u8], plain: &[u8], tag: usize) {
        if !self.is_brief {
            let sealed = Packet::new(number, header, plain, tag);
            return self.seen().sealed.push(sealed);
        }
        for frame in frames(plain) {
            if let Kind::Stream { id, fin: true, .. } = frame.kind {
                self.seen().ended.push(id);
            }
        }
    }

    /// The encrypted packets, in order.
    pub(crate) fn take_sealed(&self) -> Vec<Packet> {
        std::mem::take(&mut self.seen().sealed)
    }

    /// The decrypted packets, in order.
    pub(crate) fn take_opened(&self) -> Vec<Packet> {
        std::mem::take(&mut self.seen().opened)
    }

    /// Why TLS failed.
    pub(crate) fn take_fault(&self) -> Option<rustls::Error> {
        self.seen().fault.take()
    }

    /// Notes why TLS failed. Only the first reason is kept.
    pub(crate) fn note_fault(&self, fault: rustls::Error) {
        self.seen().fault.get_or_insert(fault);
    }

    /// Wraps `keys`.
    pub(crate) fn keys(&self, keys: rustls::quic::Keys) -> Keys {
        Keys {
            header: KeyPair {
                local: header_key(keys.local.header),
                remote: header_key(keys.remote.header),
            },
            packet: self.packet_keys(rustls::quic::PacketKeySet {
                local: keys.local.packet,
                remote: keys.remote.packet,
            }),
        }
    }

    /// Wraps a pair of packet keys.
    pub(crate) fn packet_keys(&self, keys: rustls::quic::PacketKeySet) -> KeyPair<Box<dyn PacketKey>> {
        KeyPair {
            local: self.packet_key(keys.local),
            remote: self.packet_key(keys.remote),
        }
    }

    /// Wraps one packet key.
    pub(crate) fn packet_key(&self, key: Box<dyn rustls::quic::PacketKey>) -> Box<dyn PacketKey> {
        Box::new(TappedKey {
            key,
            tap: self.clone(),
        })
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Converts a header protection key to quinn-proto's type.
pub(crate) fn header_key(key: Box<dyn rustls::quic::HeaderProtectionKey>) -> Box<dyn HeaderKey> {
    Box::new(key)
}

struct TappedKey {
    key: Box<dyn rustls::quic::PacketKey>,
    tap: Tap,
}

impl PacketKey for TappedKey {
    fn encrypt(&self, packet: u64, buf: &mut [u8], header_len: usize) {
        let tag = self.key.tag_len();
        let end = buf.len().saturating_sub(tag);
        let (header, plain) = (buf.get(..header_len), buf.get(header_len..end));
        if let (Some(header), Some(plain)) = (header, plain) {
            self.tap.note_sealed(packet, header, plain, tag);
        }
        PacketKey::encrypt(&self.key, packet, buf, header_len);
    }

    fn decrypt(&self, packet: u64, header: &[u8], payload: &mut BytesMut) -> Result<(), CryptoError> {
        PacketKey::decrypt(&self.key, packet, header, payload)?;
        if self.tap.is_brief {
            return Ok(());
        }
        let opened = Packet::new(packet, header, payload, self.key.tag_len());
        let plain = payload.to_vec();
        self.tap.seen().opened.push(Packet { plain, ..opened });
        Ok(())
    }

    fn tag_len(&self) -> usize {
        self.key.tag_len()
    }

    fn confidentiality_limit(&self) -> u64 {
        self.key.confidentiality_limit()
    }

    fn integrity_limit(&self) -> u64 {
        self.key.integrity_limit()
    }
}
