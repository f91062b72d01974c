//! Secrets of TLS, DTLS and QUIC connections, by the client's random (RFC 9850, SSLKEYLOGFILE).

use std::collections::BTreeMap;
use std::sync::Arc;

use wirecost_http::http3::open;

/// The secrets of any number of connections.
#[derive(Clone, Debug, Default)]
pub struct Secrets {
    by_random: BTreeMap<[u8; 32], Vec<(Label, Vec<u8>)>>,
    secrets: u64,
    /// The same for QUIC's reader of its own.
    quic: Arc<open::Secrets>,
}

/// What a secret is for (RFC 9850 section 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Label {
    /// CLIENT_RANDOM: the master secret of TLS 1.2 and DTLS 1.2.
    Master,
    ClientEarlyTraffic,
    ClientHandshakeTraffic,
    ServerHandshakeTraffic,
    ClientTraffic0,
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
    /// Adds every line of `text` that is a secret; other lines are comments.
    pub fn add(&mut self, text: &str) {
        let before = self.secrets;
        for line in text.lines() {
            if let Some((random, label, secret)) = parse(line) {
                self.by_random.entry(random).or_default().push((label, secret));
                self.secrets += 1;
            }
        }
        // A capture may have a block of secrets for every connection, or blocks of none.
        if self.secrets > before {
            Arc::make_mut(&mut self.quic).add(text);
        }
    }

    /// The same for QUIC connections.
    pub(crate) fn quic(&self) -> Arc<open::Secrets> {
        Arc::clone(&self.quic)
    }

    /// Secrets known.
    pub const fn len(&self) -> u64 {
        self.secrets
    }

    /// Whether no secret is known.
    pub const fn is_empty(&self) -> bool {
        self.secrets == 0
    }

    /// The secret of the connection whose client said `random`.
    pub(crate) fn find(&self, random: &[u8; 32], label: Label) -> Option<&[u8]> {
        let secrets = self.by_random.get(random)?;
        let found = secrets.iter().find(|(known, _)| *known == label);
        found.map(|(_, secret)| secret.as_slice())
    }
}

fn parse(line: &str) -> Option<([u8; 32], Label, Vec<u8>)> {
    let mut words = line.split_ascii_whitespace();
    let label = Label::parse(words.next()?)?;
    let random = hex(words.next()?)?.try_into().ok()?;
    Some((random, label, hex(words.next()?)?))
}

/// The bytes that pairs of hexadecimal digits write.
fn hex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = text
        .chars()
        .map(|digit| digit.to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
        .collect();
    let digits = digits.filter(|digits| digits.len().is_multiple_of(2))?;
    let (pairs, _) = digits.as_chunks::<2>();
    Some(pairs.iter().map(|[high, low]| high << 4 | low).collect())
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
        assert_eq!(secrets.len(), 2);
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
        assert_eq!(secrets.len(), 20_000);
    }
}
