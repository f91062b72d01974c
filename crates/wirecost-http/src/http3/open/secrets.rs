//! Secrets of TLS, DTLS and QUIC connections by the client's random (RFC 9850, SSLKEYLOGFILE).

use std::collections::BTreeMap;

/// The secrets of any number of connections.
#[derive(Clone, Debug, Default)]
pub struct Secrets {
    by_random: BTreeMap<[u8; 32], Vec<(Label, Vec<u8>)>>,
    secrets: u64,
}

/// The purpose of a secret (RFC 9850 section 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    /// CLIENT_RANDOM: the master secret of TLS 1.2 and DTLS 1.2.
    Master,
    /// CLIENT_EARLY_TRAFFIC_SECRET.
    ClientEarlyTraffic,
    /// CLIENT_HANDSHAKE_TRAFFIC_SECRET.
    ClientHandshakeTraffic,
    /// SERVER_HANDSHAKE_TRAFFIC_SECRET.
    ServerHandshakeTraffic,
    /// CLIENT_TRAFFIC_SECRET_0.
    ClientTraffic0,
    /// SERVER_TRAFFIC_SECRET_0.
    ServerTraffic0,
}

impl Label {
    fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "CLIENT_RANDOM" => Self::Master,
            "CLIENT_EARLY_TRAFFIC_SECRET" => Self::ClientEarlyTraffic,
            "CLIENT_HANDSHAKE_TRAFFIC_SECRET" => Self::ClientHandshakeTraffic,
            "SERVER_HANDSHAKE_TRAFFIC_SECRET" => Self::ServerHandshakeTraffic,
            "CLIENT_TRAFFIC_SECRET_0" => Self::ClientTraffic0,
            "SERVER_TRAFFIC_SECRET_0" => Self::ServerTraffic0,
            _ => return None,
        })
    }
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
            self.by_random.entry(random).or_default().push((label, secret));
            self.secrets += 1;
        }
    }

    /// The number of secrets.
    pub const fn count(&self) -> u64 {
        self.secrets
    }

    /// A secret of the connection whose ClientHello has this `random`.
    pub fn find(&self, random: &[u8; 32], label: Label) -> Option<&[u8]> {
        let secrets = self.by_random.get(random)?;
        let found = secrets.iter().find(|(known, _)| *known == label);
        found.map(|(_, secret)| secret.as_slice())
    }
}

fn read_line(line: &str) -> Option<([u8; 32], Label, Vec<u8>)> {
    let mut words = line.split_ascii_whitespace();
    let label = Label::parse(words.next()?)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_a_secret_by_random_and_label_and_skips_the_rest() {
        let random = "ab".repeat(32);
        let mut secrets = Secrets::default();
        secrets.add(&format!(
            "# a comment\nCLIENT_RANDOM {random} 0102\nEXPORTER_SECRET {random} 03\nCLIENT_RANDOM zz 04\n\
             CLIENT_TRAFFIC_SECRET_0 {random} 05\nCLIENT_RANDOM\n"
        ));
        assert_eq!(secrets.count(), 2);
        assert_eq!(secrets.find(&[0xab; 32], Label::Master), Some(&[1, 2][..]));
        assert_eq!(secrets.find(&[0xab; 32], Label::ClientTraffic0), Some(&[5][..]));
        assert_eq!(secrets.find(&[0xab; 32], Label::ServerTraffic0), None);
        assert_eq!(secrets.find(&[0; 32], Label::Master), None);
    }

    #[test]
    fn secrets_may_come_in_any_number_of_blocks() {
        let mut secrets = Secrets::default();
        for number in 0..20_000 {
            secrets.add(&format!("CLIENT_TRAFFIC_SECRET_0 {number:064x} {number:064x}"));
            secrets.add("# none");
        }
        assert_eq!(secrets.count(), 20_000);
    }
}
