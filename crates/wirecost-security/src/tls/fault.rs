//! Error messages for the library's errors.

pub(crate) mod certificate;

use std::fmt::Debug;

use rustls::{AlertDescription, Error, InconsistentKeys, PeerIncompatible};

use crate::layer::Fault;

const PROTOCOL: &str = "TLS";

/// The fault for an error of the library.
pub(super) fn fault(error: &Error) -> Fault {
    match error {
        Error::InvalidCertificate(_) | Error::NoCertificatesPresented => {
            Fault::Certificate(certificate::complaint(error).into())
        }
        Error::AlertReceived(alert) => Fault::Alert(alert_name(*alert).into()),
        Error::General(reason) => Fault::Other(reason.as_str().into()),
        Error::FailedToGetCurrentTime | Error::FailedToGetRandomBytes | Error::Other(_) => {
            Fault::Other(error.to_string().into())
        }
        _ => protocol(reason(error)),
    }
}

/// The reason of an error. The library prints some reasons as identifiers of its code.
fn reason(error: &Error) -> String {
    match error {
        Error::PeerIncompatible(PeerIncompatible::IncorrectCertificateTypeExtension) => {
            "one end has raw public keys (RFC 7250) and the other has certificates".to_owned()
        }
        Error::PeerIncompatible(why) => format!("peer is incompatible: {}", words(why)),
        Error::PeerMisbehaved(why) => format!("peer misbehaved: {}", words(why)),
        Error::InvalidMessage(why) => format!("received corrupt message: {}", words(why)),
        Error::InvalidCertRevocationList(why) => {
            format!("invalid certificate revocation list: {}", words(why))
        }
        Error::InvalidEncryptedClientHello(why) => format!("encrypted client hello failure: {}", words(why)),
        Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => {
            "the private key is not that of the certificate".to_owned()
        }
        Error::InconsistentKeys(why) => format!("keys may not be consistent: {}", words(why)),
        other => other.to_string(),
    }
}

/// An identifier of the library and its values as words: `MissingData("a")` becomes "missing data a".
fn words(name: impl Debug) -> String {
    let name = format!("{name:?}").replace(|letter: char| !letter.is_ascii_alphanumeric(), " ");
    let name: Vec<&str> = name.split_whitespace().collect();
    separated(&name.join(" "), ' ')
}

/// The peer's bytes are not the protocol, for this reason.
pub(super) fn protocol(reason: impl ToString) -> Fault {
    Fault::Protocol {
        protocol: PROTOCOL,
        reason: reason.to_string().into(),
    }
}

/// The connection ended without a close_notify (RFC 8446 section 6.1).
pub(super) fn truncated() -> Fault {
    Fault::Other("the peer ended the connection without close_notify: data may be missing".into())
}

/// The handshake timed out.
pub(super) const TIMED_OUT: Fault = Fault::TimedOut { protocol: PROTOCOL };

/// The alert's name in RFC 8446 section 6.
pub(crate) fn alert_name(alert: AlertDescription) -> String {
    let Some(camel) = alert.as_str() else {
        return u8::from(alert).to_string();
    };
    separated(camel, '_')
}

/// Converts camel case to lower-case words. Consecutive capitals are one word.
fn separated(camel: &str, by: char) -> String {
    let mut words = String::new();
    for (index, letter) in camel.char_indices() {
        let before = camel[..index].chars().next_back();
        let ends_capitals = before.is_some_and(|before| before.is_ascii_uppercase())
            && camel[index + letter.len_utf8()..].starts_with(|next: char| next.is_ascii_lowercase());
        let ends_small = before.is_some_and(|before| before.is_ascii_lowercase() || before.is_ascii_digit());
        if letter.is_ascii_uppercase() && (ends_small || ends_capitals) {
            words.push(by);
        }
        words.push(letter.to_ascii_lowercase());
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::{InvalidMessage, PeerMisbehaved};

    #[test]
    fn writes_alerts_as_the_standard_does() {
        let alerts = [
            (AlertDescription::UnknownCA, "unknown_ca"),
            (AlertDescription::BadRecordMac, "bad_record_mac"),
            (AlertDescription::UnknownPSKIdentity, "unknown_psk_identity"),
            (AlertDescription::from(200), "200"),
        ];
        for (alert, expected) in alerts {
            assert_eq!(alert_name(alert), expected);
        }
    }

    #[test]
    fn library_errors_are_printed_as_words() {
        let errors = [
            Error::PeerIncompatible(PeerIncompatible::NoCipherSuitesInCommon),
            Error::PeerMisbehaved(PeerMisbehaved::TooMuchEarlyDataReceived),
            Error::InvalidMessage(InvalidMessage::MissingData("ServerHello")),
            Error::InconsistentKeys(InconsistentKeys::KeyMismatch),
        ];
        let expected = [
            "peer is incompatible: no cipher suites in common",
            "peer misbehaved: too much early data received",
            "received corrupt message: missing data server hello",
            "the private key is not that of the certificate",
        ];
        assert_eq!(errors.map(|error| reason(&error)), expected);
    }
}
