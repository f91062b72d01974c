//! What the handshakes of TLS, DTLS and QUIC had: suite, group, certificates, and whether a session was resumed.

use std::fmt::Write as _;

use serde::Serialize;
use wirecost_proto::PeerText;
use wirecost_proto::shown::grouped;
use wirecost_security::certificate::sent::SentChain;

/// The most kinds of handshakes of a server that are told apart. Those beyond are counted together.
const MAX_KINDS: usize = 16;

/// What a handshake had, as far as the capture shows it. With `is_further` it says nothing else.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TlsHandshake {
    /// The cipher suite by its registered name; `None` where the library does not know it.
    pub suite: Option<String>,
    /// The group of the key exchange; `None` where there was none.
    pub group: Option<String>,
    /// Whether the server asked for the share of another group first (HelloRetryRequest, RFC 8446 section 4.1.4).
    pub is_retried: bool,
    /// Whether the server asked the client to prove its address first: by a cookie (RFC 6347 section 4.2.1, RFC 8446 section 4.2.2), or
    /// by a Retry of QUIC (RFC 9000 section 8.1.2).
    pub is_address_checked: bool,
    /// Whether it continued an earlier session.
    pub is_resumed: bool,
    /// Whether it is of any further kind: a server has more of them than are told apart.
    pub is_further: bool,
    /// The server's certificates. None are known where the session was resumed, and where TLS 1.3 encrypts them and the secrets are not
    /// there. The content of DTLS 1.3 is not decrypted.
    #[serde(serialize_with = "write_chain")]
    pub certificates: SentChain,
}

fn write_chain<S: serde::Serializer>(sent: &SentChain, to: S) -> Result<S::Ok, S::Error> {
    let each = sent.certificates().iter();
    to.collect_seq(each.map(|certificate| Certificate {
        subject: certificate.subject.as_ref().map(PeerText::as_str),
        bytes: certificate.bytes,
        is_root: certificate.is_root,
    }))
}

impl TlsHandshake {
    /// Whether a key that both sides have takes the place of certificates (RFC 4279, RFC 5489).
    fn has_shared_key(&self) -> bool {
        self.suite.as_ref().is_some_and(|suite| suite.contains("_PSK_"))
    }
}

/// A certificate of a report.
#[derive(Serialize)]
struct Certificate<'a> {
    subject: Option<&'a str>,
    bytes: usize,
    is_root: bool,
}

/// Handshakes of one kind, with the bytes of the security layer until the client may send.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TlsHandshakes {
    /// What each of them had.
    #[serde(flatten)]
    pub of: TlsHandshake,
    /// How many.
    pub handshakes: u64,
    /// Bytes of all from the client: handshake, tickets, and their records.
    pub security_bytes_up: u64,
    /// The same from the server.
    pub security_bytes_down: u64,
}

impl TlsHandshakes {
    /// Adds a handshake to those of its kind.
    pub(crate) fn add(all: &mut Vec<Self>, of: TlsHandshake, [up, down]: [u64; 2]) {
        let is_told_apart = all.len() < MAX_KINDS || all.iter().any(|one| one.of == of);
        let of = match is_told_apart {
            true => of,
            false => TlsHandshake {
                is_further: true,
                ..TlsHandshake::default()
            },
        };
        match all.iter_mut().find(|one| one.of == of) {
            Some(one) => {
                one.handshakes += 1;
                one.security_bytes_up += up;
                one.security_bytes_down += down;
            }
            None => all.push(Self {
                of,
                handshakes: 1,
                security_bytes_up: up,
                security_bytes_down: down,
            }),
        }
    }

    /// Bytes of one, up and down, in the mean.
    fn each(&self) -> [u64; 2] {
        [self.security_bytes_up, self.security_bytes_down].map(|bytes| bytes / self.handshakes.max(1))
    }

    /// What it had in words.
    fn words(&self) -> String {
        let TlsHandshake {
            suite,
            group,
            is_retried,
            is_address_checked,
            is_resumed,
            is_further,
            certificates,
        } = &self.of;
        if *is_further {
            let [up, down] = self.each().map(grouped);
            return format!("{} of further kinds: {up} + {down} B", grouped(self.handshakes));
        }
        let mut words: Vec<String> = vec![
            suite
                .clone()
                .unwrap_or_else(|| "a suite that is not known here".to_owned()),
        ];
        words.extend(group.iter().map(|group| match is_retried {
            true => format!("{group} after a HelloRetryRequest, which took a round trip"),
            false => group.clone(),
        }));
        words.extend(
            is_address_checked.then(|| "after a check of the address, which took a round trip".to_owned()),
        );
        let [up, down] = self.each().map(grouped);
        words.push(format!("{up} + {down} B"));
        let kind = match is_resumed {
            true => "resumed",
            false => "full",
        };
        let chain = match (certificates.certificates().is_empty(), is_resumed) {
            (true, true) => String::new(),
            (true, false) if self.of.has_shared_key() => "; a pre-shared key, no certificates".to_owned(),
            (true, false) => "; certificates: encrypted".to_owned(),
            (false, _) => format!("; {}", certificates.words()),
        };
        let unneeded = certificates.unneeded();
        let unneeded = unneeded.map_or_else(String::new, |root| format!("; not needed: {root}"));
        format!(
            "{} {kind}: {}{chain}{unneeded}",
            grouped(self.handshakes),
            words.join(", ")
        )
    }
}

/// A line for each kind of a server, and what a resumption saves.
pub(crate) fn lines(server: &str, kinds: &[TlsHandshakes], text: &mut String) {
    for one in kinds {
        let _ = writeln!(text, "  {server}: {}{}", one.words(), saved(one, kinds));
    }
}

/// What a resumed handshake saves beside the first full one of its group.
fn saved(one: &TlsHandshakes, all: &[TlsHandshakes]) -> String {
    let full = all
        .iter()
        .find(|other| !other.of.is_resumed && !other.of.is_further);
    let Some(full) = full.filter(|_| one.of.is_resumed) else {
        return String::new();
    };
    let sum = |one: &TlsHandshakes| one.each().iter().sum::<u64>();
    match sum(full).checked_sub(sum(one)) {
        Some(less) => format!("; {} B less than a full one", grouped(less)),
        None => format!("; {} B more than a full one", grouped(sum(one) - sum(full))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_beyond_the_most_are_counted_together() {
        let mut all = Vec::new();
        for kind in 0..40 {
            let of = TlsHandshake {
                suite: Some(format!("SUITE_{kind}")),
                ..TlsHandshake::default()
            };
            TlsHandshakes::add(&mut all, of.clone(), [kind, 10]);
            TlsHandshakes::add(&mut all, of, [kind, 10]);
        }
        assert_eq!(all.len(), MAX_KINDS + 1);
        assert!(all[..MAX_KINDS].iter().all(|one| one.handshakes == 2));
        let further = &all[MAX_KINDS];
        assert_eq!((further.handshakes, further.security_bytes_down), (48, 480));
        assert!(
            further.words().starts_with("48 of further kinds: "),
            "{}",
            further.words()
        );
    }
}
