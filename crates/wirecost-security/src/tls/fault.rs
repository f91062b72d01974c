//! The library's errors in words.

use std::time::Duration;

use rustls::{AlertDescription, CertificateError, Error};

use crate::layer::Fault;

const PROTOCOL: &str = "TLS";

/// The fault that an error of the library is.
pub(super) fn fault(error: &Error) -> Fault {
    match error {
        Error::InvalidCertificate(error) => Fault::Certificate(certificate(error)),
        Error::NoCertificatesPresented => Fault::Certificate("there is none".to_owned()),
        Error::AlertReceived(alert) => Fault::Alert(name(*alert)),
        Error::General(reason) => Fault::Other(reason.clone()),
        Error::FailedToGetCurrentTime | Error::FailedToGetRandomBytes | Error::Other(_) => {
            Fault::Other(error.to_string())
        }
        _ => protocol(error),
    }
}

/// What the peer sent is not the protocol, for this reason.
pub(super) fn protocol(reason: impl ToString) -> Fault {
    Fault::Protocol {
        protocol: PROTOCOL,
        reason: reason.to_string(),
    }
}

/// The connection ended without a close_notify (RFC 8446 section 6.1).
pub(super) fn truncated() -> Fault {
    Fault::Other("the peer ended the connection without close_notify: something may be missing".to_owned())
}

/// The handshake took too long.
pub(super) const TIMED_OUT: Fault = Fault::TimedOut { protocol: PROTOCOL };

fn certificate(error: &CertificateError) -> String {
    match error {
        CertificateError::ExpiredContext { not_after, .. } => {
            format!("it expired on {}", date(not_after.as_secs()))
        }
        CertificateError::NotValidYetContext { not_before, .. } => {
            format!("it is not valid before {}", date(not_before.as_secs()))
        }
        CertificateError::NotValidForNameContext { expected, presented } => {
            format!(
                "it is not for {}, but for {}",
                expected.to_str(),
                names(presented)
            )
        }
        CertificateError::UnknownIssuer => "its issuer is not trusted".to_owned(),
        CertificateError::BadSignature => "its signature is wrong".to_owned(),
        CertificateError::BadEncoding => "it cannot be read".to_owned(),
        CertificateError::InvalidPurposeContext { .. } => "it is not meant for this purpose".to_owned(),
        other => other.to_string(),
    }
}

/// The names that a certificate presents, as the library prints them: `DnsName("a")`.
fn names(presented: &[String]) -> String {
    let bare = |name: &String| {
        let inside = name.split_once('(').map_or(name.as_str(), |(_, inside)| inside);
        inside.trim_end_matches(')').trim_matches('"').to_owned()
    };
    match presented {
        [] => "nobody".to_owned(),
        _ => presented.iter().map(bare).collect::<Vec<_>>().join(", "),
    }
}

/// The alert's name as RFC 8446 section 6 writes it.
fn name(alert: AlertDescription) -> String {
    let Some(camel) = alert.as_str() else {
        return u8::from(alert).to_string();
    };
    let mut name = String::new();
    for (index, letter) in camel.char_indices() {
        let after_small = camel[..index].ends_with(|before: char| before.is_ascii_lowercase());
        if letter.is_ascii_uppercase() && after_small {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}

/// A day of the Gregorian calendar, of seconds since 1970-01-01 00:00 UTC.
fn date(unix_seconds: u64) -> String {
    let mut days = Duration::from_secs(unix_seconds).as_secs() / 86_400;
    let mut year = 1970;
    while days >= days_of(year) {
        days -= days_of(year);
        year += 1;
    }
    let february = days_of(year) - 337;
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    format!("{year}-{month:02}-{:02}", days + 1)
}

const fn days_of(year: u64) -> u64 {
    let leap = (year.is_multiple_of(4) && !year.is_multiple_of(100)) || year.is_multiple_of(400);
    if leap { 366 } else { 365 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_dates() {
        let dates = [
            (0, "1970-01-01"),
            (951_782_400, "2000-02-29"),
            (1_767_225_600, "2026-01-01"),
            (2_082_758_399, "2035-12-31"),
        ];
        for (seconds, expected) in dates {
            assert_eq!(date(seconds), expected);
        }
    }

    #[test]
    fn writes_alerts_as_the_standard_does() {
        let alerts = [
            (AlertDescription::UnknownCA, "unknown_ca"),
            (AlertDescription::BadRecordMac, "bad_record_mac"),
            (AlertDescription::from(200), "200"),
        ];
        for (alert, expected) in alerts {
            assert_eq!(name(alert), expected);
        }
    }

    #[test]
    fn writes_the_names_of_a_certificate() {
        let presented = ["DnsName(\"server\")".to_owned(), "IpAddress(::1)".to_owned()];
        assert_eq!(names(&presented), "server, ::1");
        assert_eq!(names(&[]), "nobody");
    }
}
