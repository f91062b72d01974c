//! Secrets of connections by the client's random (RFC 9850).

use std::collections::BTreeMap;

use wirecost_proto::Direction;

use crate::http3::quic::packet::Type;

/// The secrets of any number of connections.
#[derive(Clone, Debug, Default)]
pub struct Secrets {
    secrets: BTreeMap<[u8; 32], Vec<(String, Vec<u8>)>>,
}

impl Secrets {
    /// The secrets in a key log. Other lines are ignored.
    pub fn parse(key_log: &str) -> Self {
        let mut secrets = Self::default();
        secrets.add(key_log);
        secrets
    }

    /// Adds the secrets in a key log.
    pub fn add(&mut self, key_log: &str) {
        for (random, label, secret) in key_log.lines().filter_map(read_line) {
            let known = self.secrets.entry(random).or_default();
            known.push((label.to_owned(), secret));
        }
    }

    /// The secret of packets of this type and direction.
    pub(super) fn find(&self, random: &[u8; 32], kind: Type, direction: Direction) -> Option<&[u8]> {
        let label = match (kind, direction) {
            (Type::ZeroRtt, Direction::Up) => "CLIENT_EARLY_TRAFFIC_SECRET",
            (Type::Handshake, Direction::Up) => "CLIENT_HANDSHAKE_TRAFFIC_SECRET",
            (Type::Handshake, Direction::Down) => "SERVER_HANDSHAKE_TRAFFIC_SECRET",
            (Type::OneRtt, Direction::Up) => "CLIENT_TRAFFIC_SECRET_0",
            (Type::OneRtt, Direction::Down) => "SERVER_TRAFFIC_SECRET_0",
            _ => return None,
        };
        let known = self.secrets.get(random)?;
        let found = known.iter().find(|(name, _)| name == label);
        found.map(|(_, secret)| secret.as_slice())
    }
}

fn read_line(line: &str) -> Option<([u8; 32], &str, Vec<u8>)> {
    let mut words = line.split_ascii_whitespace();
    let label = words.next()?;
    let random = read_hex(words.next()?)?.try_into().ok()?;
    Some((random, label, read_hex(words.next()?)?))
}

fn read_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.chars().map(|digit| digit.to_digit(16));
    let digits: Vec<u32> = digits.collect::<Option<_>>()?;
    let pairs = digits.chunks_exact(2);
    let is_whole = pairs.remainder().is_empty();
    let bytes = pairs.map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | *digit as u8));
    is_whole.then(|| bytes.collect())
}
