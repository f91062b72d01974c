//! Error messages about certificates, for TLS, QUIC and DTLS.

use rustls::{CertificateError, Error, ExtendedKeyPurpose};

use super::words;
use wirecost_proto::date::{SECONDS_OF_A_DAY, date_of};

/// The library's name for an authority's certificate used as a server certificate, such as `openssl req -x509` makes.
/// rustls has no type for this error.
const CA_AS_END_ENTITY: &str = "CaUsedAsEndEntity";

/// Why an authority's certificate is not accepted as a server certificate, even by clients that trust the authority
/// (RFC 5280, section 4.2.1.9).
const OF_AN_AUTHORITY: &str = "it belongs to an authority (CA:TRUE), not to a server";

/// What is wrong with a certificate. Each kind needs another remedy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// It has expired, or is not valid yet.
    OutOfDate,
    /// It is for other names.
    OtherName,
    /// No trusted authority issued it.
    UnknownIssuer,
    /// It belongs to an authority, not to a server.
    OfAnAuthority,
    /// Anything else.
    Other,
}

impl Flaw {
    /// The flaw in a complaint, by its first words. Names and dates after them may contain any word.
    pub fn from_complaint(complaint: &str) -> Self {
        let begins = |with: &[&str]| with.iter().any(|words| complaint.starts_with(words));
        if begins(&[
            "it expired on ",
            "it has expired",
            "it is not valid before ",
            "it is not valid yet",
        ]) {
            Self::OutOfDate
        } else if begins(&["it is not for "]) {
            Self::OtherName
        } else if begins(&["its issuer is not trusted", "its signature is wrong"]) {
            // Another authority with the same name issued it, and the trusted key does not verify it.
            Self::UnknownIssuer
        } else if begins(&[OF_AN_AUTHORITY]) {
            Self::OfAnAuthority
        } else {
            Self::Other
        }
    }
}

/// Whether an error says that the certificate belongs to an authority.
pub(in crate::tls) fn is_of_an_authority(error: &Error) -> bool {
    matches!(error, Error::InvalidCertificate(CertificateError::Other(error)) if error.to_string() == CA_AS_END_ENTITY)
}

/// What an error says about the certificate.
pub(crate) fn complaint(error: &Error) -> String {
    match error {
        Error::InvalidCertificate(error) => certificate(error),
        Error::NoCertificatesPresented => "there is none".to_owned(),
        other => super::reason(other),
    }
}

/// What is wrong with a certificate, as a clause about "it".
pub(super) fn certificate(error: &CertificateError) -> String {
    let plain = match error {
        CertificateError::ExpiredContext { not_after, .. } => {
            return format!("it expired on {}", date(not_after.as_secs()));
        }
        CertificateError::NotValidYetContext { not_before, .. } => {
            return format!("it is not valid before {}", date(not_before.as_secs()));
        }
        CertificateError::NotValidForNameContext { expected, presented } => {
            return format!(
                "it is not for {}, but for {}",
                expected.to_str(),
                names(presented)
            );
        }
        CertificateError::InvalidPurposeContext { required, presented } => {
            return purpose(required, presented);
        }
        CertificateError::Other(error) => return rule(&error.to_string()),
        CertificateError::Expired => "it has expired, or expires before it begins",
        CertificateError::NotValidYet => "it is not valid yet",
        CertificateError::NotValidForName => "it is not for this name",
        CertificateError::InvalidPurpose => "it is not valid for this purpose",
        CertificateError::UnknownIssuer => "its issuer is not trusted",
        CertificateError::BadSignature => "its signature is wrong",
        CertificateError::BadEncoding => "it cannot be read",
        CertificateError::Revoked => "it has been revoked",
        CertificateError::UnhandledCriticalExtension => "it has an unknown critical extension",
        CertificateError::UnknownRevocationStatus => "its revocation status is unknown",
        CertificateError::ExpiredRevocationList | CertificateError::ExpiredRevocationListContext { .. } => {
            "the certificate revocation list is out of date"
        }
        // Of `RawKeys` alone.
        CertificateError::ApplicationVerificationFailure => "its raw public key is not one that is trusted",
        CertificateError::InvalidOcspResponse => "its OCSP response is wrong",
        CertificateError::UnsupportedSignatureAlgorithmContext { .. } => {
            "its signature algorithm is not supported"
        }
        CertificateError::UnsupportedSignatureAlgorithmForPublicKeyContext { .. } => {
            "its signature algorithm does not match its issuer's key"
        }
        other => return words(other),
    };
    plain.to_owned()
}

/// A rule of RFC 5280 that the certificate breaks, by the library's name.
fn rule(name: &str) -> String {
    match name {
        CA_AS_END_ENTITY => OF_AN_AUTHORITY.to_owned(),
        other => format!("it breaks a rule of RFC 5280: {}", words(other)),
    }
}

fn purpose(required: &ExtendedKeyPurpose, presented: &[ExtendedKeyPurpose]) -> String {
    let presented: Vec<String> = presented.iter().map(ToString::to_string).collect();
    match presented.as_slice() {
        [] => format!("it is not valid for {required}"),
        some => format!("it is not valid for {required}, but for {}", some.join(", ")),
    }
}

/// The names in a certificate, from the library's format `DnsName("a")`.
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

/// A day of the Gregorian calendar, of seconds since 1970-01-01 00:00 UTC.
fn date(unix_seconds: u64) -> String {
    let (year, month, day) = date_of(unix_seconds / SECONDS_OF_A_DAY);
    format!("{year}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::OtherError;
    use rustls::pki_types::{ServerName, UnixTime};
    use std::sync::Arc;
    use std::time::Duration;

    /// An error in the format of the library below rustls: an identifier.
    fn by_name(name: &str) -> CertificateError {
        CertificateError::Other(OtherError(Arc::from(
            Box::<dyn std::error::Error + Send + Sync>::from(name),
        )))
    }

    #[test]
    fn an_authority_used_as_a_server_is_named() {
        assert_eq!(
            certificate(&by_name("CaUsedAsEndEntity")),
            "it belongs to an authority (CA:TRUE), not to a server"
        );
    }

    #[test]
    fn a_complaint_determines_its_flaw() {
        let day = UnixTime::since_unix_epoch(Duration::from_secs(1_767_225_600));
        let expected = ServerName::try_from("expired.lab").expect("a name");
        let errors = [
            (CertificateError::Expired, Flaw::OutOfDate),
            (
                CertificateError::ExpiredContext {
                    time: day,
                    not_after: day,
                },
                Flaw::OutOfDate,
            ),
            (CertificateError::NotValidYet, Flaw::OutOfDate),
            (
                CertificateError::NotValidYetContext {
                    time: day,
                    not_before: day,
                },
                Flaw::OutOfDate,
            ),
            (CertificateError::NotValidForName, Flaw::OtherName),
            (
                CertificateError::NotValidForNameContext {
                    expected,
                    presented: vec!["DnsName(\"it has expired\")".to_owned()],
                },
                Flaw::OtherName,
            ),
            (CertificateError::UnknownIssuer, Flaw::UnknownIssuer),
            (CertificateError::BadSignature, Flaw::UnknownIssuer),
            (by_name(CA_AS_END_ENTITY), Flaw::OfAnAuthority),
            (
                CertificateError::UnsupportedSignatureAlgorithmForPublicKeyContext {
                    signature_algorithm_id: vec![1],
                    public_key_algorithm_id: vec![2],
                },
                Flaw::Other,
            ),
            (CertificateError::ExpiredRevocationList, Flaw::Other),
            (CertificateError::Revoked, Flaw::Other),
        ];
        for (error, flaw) in errors {
            let complaint = certificate(&error);
            assert_eq!(Flaw::from_complaint(&complaint), flaw, "{complaint}");
        }
    }

    /// A complaint contains no identifier of a library's code, which would be words without a blank between them.
    #[test]
    fn every_complaint_is_a_sentence() {
        let errors = [
            by_name("NameConstraintViolation"),
            by_name("UnsupportedCertVersion"),
            CertificateError::Expired,
            CertificateError::Revoked,
            CertificateError::UnhandledCriticalExtension,
            CertificateError::InvalidOcspResponse,
            CertificateError::ApplicationVerificationFailure,
            CertificateError::UnsupportedSignatureAlgorithmContext {
                signature_algorithm_id: vec![1],
                supported_algorithms: Vec::new(),
            },
            CertificateError::InvalidPurposeContext {
                required: ExtendedKeyPurpose::ServerAuth,
                presented: vec![ExtendedKeyPurpose::ClientAuth],
            },
        ];
        for error in errors {
            let text = certificate(&error);
            let is_name = |word: &str| {
                word.chars().skip(1).any(char::is_uppercase) && word.chars().any(char::is_lowercase)
            };
            assert!(!text.split(' ').any(is_name), "{text}");
        }
        assert_eq!(
            certificate(&by_name("NameConstraintViolation")),
            "it breaks a rule of RFC 5280: name constraint violation"
        );
    }

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
    fn writes_the_names_of_a_certificate() {
        let presented = ["DnsName(\"server\")".to_owned(), "IpAddress(::1)".to_owned()];
        assert_eq!(names(&presented), "server, ::1");
        assert_eq!(names(&[]), "nobody");
    }
}
