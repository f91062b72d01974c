//! Decrypts DTLS 1.3 records with a key log. The code is independent of dimpl and wirecost.
#![allow(dead_code, reason = "not every test looks at everything")]

use std::collections::BTreeMap;

use aws_lc_rs::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::cipher::{AES_128, EncryptingKey, UnboundCipherKey};
use aws_lc_rs::hmac;
use wirecost_proto::Direction;

/// A decrypted DTLS 1.3 record.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) epoch: u8,
    pub(crate) content: u8,
    pub(crate) plaintext: Vec<u8>,
    /// Bytes of the record on the wire.
    pub(crate) bytes: usize,
}

/// Decrypts the records of one DTLS 1.3 connection with its key log lines (RFC 9147 section 4).
pub(crate) struct Opener {
    secrets: BTreeMap<String, Vec<u8>>,
}

impl Opener {
    pub(crate) fn new(key_log: &str) -> Self {
        let line = |line: &str| {
            let mut words = line.split(' ');
            let (label, _, secret) = (words.next()?, words.next()?, words.next()?);
            let byte = |at: usize| u8::from_str_radix(secret.get(at..at + 2)?, 16).ok();
            let secret = (0..secret.len()).step_by(2).filter_map(byte).collect();
            Some((label.to_owned(), secret))
        };
        Self {
            secrets: key_log.lines().filter_map(line).collect(),
        }
    }

    /// The protected records of a datagram. Unprotected records are left out.
    pub(crate) fn open_all(&self, direction: Direction, datagram: &[u8]) -> Vec<Opened> {
        let (mut rest, mut opened) = (datagram, Vec::new());
        while let Some(first) = rest.first() {
            let bytes = if first >> 5 == 1 {
                let record = self.open(direction, rest);
                let bytes = record.bytes;
                opened.push(record);
                bytes
            } else {
                13 + usize::from(u16::from_be_bytes([rest[11], rest[12]]))
            };
            rest = &rest[bytes..];
        }
        opened
    }

    /// Decrypts the record at the start of `bytes`.
    fn open(&self, direction: Direction, bytes: &[u8]) -> Opened {
        let (flags, epoch) = (bytes[0], bytes[0] & 3);
        assert_eq!(
            flags & 0b1_1100,
            0b0_1100,
            "no connection ID, two bytes of number, a length"
        );
        let length = usize::from(u16::from_be_bytes([bytes[3], bytes[4]]));
        let secret = &self.secrets[match (direction, epoch) {
            (Direction::Up, 2) => "CLIENT_HANDSHAKE_TRAFFIC_SECRET",
            (Direction::Down, 2) => "SERVER_HANDSHAKE_TRAFFIC_SECRET",
            (Direction::Up, _) => "CLIENT_TRAFFIC_SECRET_0",
            (Direction::Down, _) => "SERVER_TRAFFIC_SECRET_0",
        }];
        let mut ciphertext = bytes[5..5 + length].to_vec();
        // Section 4.2.3: the mask of the number is the encrypted start of the ciphertext.
        let mut mask: [u8; 16] = ciphertext[..16].try_into().expect("a sample");
        let key = UnboundCipherKey::new(&AES_128, &expand(secret, "sn", 16)).expect("a key");
        let key = EncryptingKey::ecb(key).expect("a key");
        key.encrypt(&mut mask).expect("a mask");
        let mut header: [u8; 5] = bytes[..5].try_into().expect("a header");
        header[1] ^= mask[0];
        header[2] ^= mask[1];
        let mut nonce: [u8; 12] = expand(secret, "iv", 12).try_into().expect("a nonce");
        nonce[10] ^= header[1];
        nonce[11] ^= header[2];
        let key = UnboundKey::new(&AES_128_GCM, &expand(secret, "key", 16)).expect("a key");
        let nonce = Nonce::assume_unique_for_key(nonce);
        let plaintext = LessSafeKey::new(key).open_in_place(nonce, Aad::from(&header), &mut ciphertext);
        let plaintext = plaintext.expect("the record opens");
        let end = plaintext.iter().rposition(|byte| *byte != 0).expect("a type");
        Opened {
            epoch,
            content: plaintext[end],
            plaintext: plaintext[..end].to_vec(),
            bytes: 5 + length,
        }
    }
}

/// HKDF-Expand-Label of at most one block (RFC 8446 section 7.1, with the prefix of RFC 9147 section 5.9).
fn expand(secret: &[u8], label: &str, bytes: u8) -> Vec<u8> {
    let mut info = vec![0, bytes, 6 + label.len() as u8];
    info.extend_from_slice(b"dtls13");
    info.extend_from_slice(label.as_bytes());
    info.extend_from_slice(&[0, 1]);
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
    hmac::sign(&key, &info).as_ref()[..usize::from(bytes)].to_vec()
}
