//! Reads subject, issuer and expiry of a certificate (RFC 5280, section 4.1), by which a reader recognises it.

use std::fmt;

use wirecost_proto::PeerText;

/// Subject, issuer and expiry of a certificate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Certificate {
    /// The common name of its subject, or else the organisation.
    pub subject: PeerText,
    /// The common name of its issuer, or else the organisation.
    pub issuer: PeerText,
    /// The last day of its validity, as YYYY-MM-DD.
    pub expires: PeerText,
    /// Whether it is a root: its issuer is its subject. Whoever can check a chain has its root already (RFC 8446, section 4.4.2).
    pub is_root: bool,
}

/// The certificate of a server, as the server sent it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Presented {
    /// The server's own certificate.
    pub own: Certificate,
    /// Whether no other certificate came with it: its issuer has to be known already (RFC 8446, section 4.4.2).
    pub is_alone: bool,
}

impl Presented {
    /// Reads the chain that a server sent; `None` where it has no certificate, or a malformed one.
    pub fn read(chain: &[Vec<u8>]) -> Option<Self> {
        Some(Self {
            own: Certificate::read(chain.first()?)?,
            is_alone: chain.len() == 1,
        })
    }
}

impl fmt::Display for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            subject,
            issuer,
            expires,
            is_root: _,
        } = self;
        write!(f, "{subject:?}, issued by {issuer:?}, valid until {expires}")
    }
}

/// Tags of DER (X.690, section 8).
mod tag {
    pub(super) const OBJECT_IDENTIFIER: u8 = 0x06;
    pub(super) const UTC_TIME: u8 = 0x17;
    pub(super) const GENERALIZED_TIME: u8 = 0x18;
    pub(super) const SEQUENCE: u8 = 0x30;
    pub(super) const SET: u8 = 0x31;
    /// Context-specific 0, constructed: the version.
    pub(super) const VERSION: u8 = 0xa0;
}

/// id-at-commonName and id-at-organizationName (RFC 5280, appendix A.1).
const NAMES: [&[u8]; 2] = [&[0x55, 0x04, 0x03], &[0x55, 0x04, 0x0a]];

impl Certificate {
    /// Reads a certificate in DER; `None` where it is malformed.
    pub fn read(der: &[u8]) -> Option<Self> {
        let mut fields = Der(der).take(tag::SEQUENCE)?;
        let mut fields = fields.take(tag::SEQUENCE)?;
        if fields.tag() == Some(tag::VERSION) {
            fields.skip()?;
        }
        fields.skip()?; // serialNumber
        fields.skip()?; // signature
        let issuer = fields.take(tag::SEQUENCE)?;
        let mut validity = fields.take(tag::SEQUENCE)?;
        let subject = fields.take(tag::SEQUENCE)?;
        validity.skip()?; // notBefore
        Some(Self {
            subject: name(subject),
            issuer: name(issuer),
            expires: validity.date()?.into(),
            is_root: issuer.0 == subject.0,
        })
    }
}

/// The common name of a Name, or else its organisation; empty where it has neither.
fn name(name: Der<'_>) -> PeerText {
    let found = NAMES.iter().find_map(|wanted| attribute(name, wanted));
    found.unwrap_or_default()
}

fn attribute(mut name: Der<'_>, wanted: &[u8]) -> Option<PeerText> {
    while let Some(mut set) = name.take(tag::SET) {
        let mut pair = set.take(tag::SEQUENCE)?;
        let Der(identifier) = pair.take(tag::OBJECT_IDENTIFIER)?;
        if identifier == wanted {
            let (_, Der(value)) = pair.next()?;
            return Some(PeerText::from_bytes(value));
        }
    }
    None
}

/// A sequence of DER values.
#[derive(Clone, Copy)]
struct Der<'a>(&'a [u8]);

impl<'a> Der<'a> {
    fn tag(&self) -> Option<u8> {
        self.0.first().copied()
    }

    /// The next value and its tag (X.690, sections 8.1.2 and 8.1.3).
    fn next(&mut self) -> Option<(u8, Self)> {
        let (&tag, rest) = self.0.split_first()?;
        let (&first, rest) = rest.split_first()?;
        let (len, rest) = match first {
            0..=0x7f => (usize::from(first), rest),
            0x81..=0x84 => {
                let (digits, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
                let len = digits.iter().fold(0, |len, digit| len << 8 | usize::from(*digit));
                (len, rest)
            }
            _ => return None,
        };
        let (value, rest) = rest.split_at_checked(len)?;
        self.0 = rest;
        Some((tag, Self(value)))
    }

    /// The next value, if it has this tag.
    fn take(&mut self, wanted: u8) -> Option<Self> {
        match self.tag() {
            Some(tag) if tag == wanted => self.next().map(|(_, value)| value),
            _ => None,
        }
    }

    fn skip(&mut self) -> Option<()> {
        self.next().map(drop)
    }

    /// RFC 5280, section 4.1.2.5: years of two digits from 50 on are in the 20th century.
    fn date(&mut self) -> Option<String> {
        let (tag, Self(digits)) = self.next()?;
        let text = std::str::from_utf8(digits).ok()?;
        let (year, rest) = match tag {
            tag::UTC_TIME => {
                let year: u32 = text.get(..2)?.parse().ok()?;
                (
                    if year < 50 { 2_000 + year } else { 1_900 + year },
                    text.get(2..)?,
                )
            }
            tag::GENERALIZED_TIME => (text.get(..4)?.parse().ok()?, text.get(4..)?),
            _ => return None,
        };
        Some(format!("{year}-{}-{}", rest.get(..2)?, rest.get(2..4)?))
    }
}

#[cfg(test)]
mod tests {
    use wirecost_proto::Rng;

    use super::super::{Authority, Identity};
    use super::*;

    #[test]
    fn a_certificate_says_who_it_is_for_who_issued_it_and_until_when() {
        let authority = Authority::generate().expect("an authority");
        let identity = Identity::generate(&authority).expect("an identity");
        let certificate = Certificate::read(identity.certificate()).expect("readable");
        assert_eq!(
            certificate.to_string(),
            "\"localhost\", issued by \"wirecost test CA\", valid until 2036-01-01"
        );
        let own = Certificate::read(authority.certificate()).expect("readable");
        assert_eq!(own.subject, own.issuer);
        assert!(own.is_root && !certificate.is_root);
    }

    #[test]
    fn no_bytes_make_the_reader_panic() {
        let authority = Authority::generate().expect("an authority");
        let whole = authority.certificate();
        let mut rng = Rng::new(1);
        for _ in 0..20_000 {
            let mut bytes = whole.to_vec();
            bytes.truncate(rng.next_below(whole.len() as u64 + 1) as usize);
            for _ in 0..rng.next_below(4) {
                let at = rng.next_below(bytes.len().max(1) as u64) as usize;
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = rng.next_u64() as u8;
                }
            }
            let _ = Certificate::read(&bytes);
        }
    }
}
