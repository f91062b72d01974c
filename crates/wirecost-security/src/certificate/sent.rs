//! The certificates that an end sent, as a reader wants to know them: whose they are, their sizes, and which ones a client does not need.

use wirecost_proto::PeerText;

use super::KeyKind;
use super::x509::Certificate;

/// A certificate of a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentCertificate {
    /// The common name of its subject; `None` where it cannot be read.
    pub subject: Option<PeerText>,
    /// Bytes in DER.
    pub bytes: usize,
    /// Whether its issuer is its subject.
    pub is_root: bool,
    /// The kind of a raw public key in its place (RFC 7250).
    pub raw_key: Option<KeyKind>,
}

/// A chain, the leaf first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SentChain(Vec<SentCertificate>);

impl SentChain {
    /// Reads certificates in DER.
    pub fn read<'a>(ders: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let each = ders.into_iter().map(|der| {
            let certificate = Certificate::read(der);
            SentCertificate {
                bytes: der.len(),
                is_root: certificate.as_ref().is_some_and(|read| read.is_root),
                subject: certificate.map(|read| read.subject),
                raw_key: KeyKind::of_public(der),
            }
        });
        Self(each.collect())
    }

    /// The certificates.
    pub fn certificates(&self) -> &[SentCertificate] {
        &self.0
    }

    /// Bytes of all.
    pub fn bytes(&self) -> usize {
        self.0.iter().map(|certificate| certificate.bytes).sum()
    }

    /// All with their sizes: `1699 B of certificates: broker.example 1000 B, E7 699 B`, or `91 B of a raw public key (p256)`.
    pub fn words(&self) -> String {
        if let [one] = self.0.as_slice()
            && let Some(kind) = one.raw_key
        {
            return format!("{} B of a raw public key ({kind})", one.bytes);
        }
        let sizes: Vec<String> = self.0.iter().map(SentCertificate::words).collect();
        format!("{} B of certificates: {}", self.bytes(), sizes.join(", "))
    }

    /// What a client does not need: a root behind the leaf. A client that can check the chain has it, and no other trusts it (RFC 8446,
    /// section 4.4.2).
    pub fn unneeded(&self) -> Option<String> {
        let roots = self.0.iter().skip(1).filter(|certificate| certificate.is_root);
        let roots: Vec<String> = roots.map(SentCertificate::words).collect();
        (!roots.is_empty()).then(|| format!("the root, which a client has already: {}", roots.join(", ")))
    }
}

impl SentCertificate {
    fn words(&self) -> String {
        match &self.subject {
            Some(subject) => format!("{subject} {} B", self.bytes),
            None => format!("{} B", self.bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certificate::{Authority, Chain, Identity, Kind};
    use crate::entropy::Entropy;

    #[test]
    fn a_raw_public_key_is_named() {
        let kind = Kind {
            chain: Chain::RawPublicKey,
            ..Kind::default()
        };
        let authority = Authority::of_kind(kind, Entropy::system()).expect("a key");
        let server = Identity::generate(&authority).expect("the same key");
        assert_eq!(server.certificate(), authority.certificate());
        let sent = SentChain::read([server.certificate()]);
        assert_eq!(sent.words(), "91 B of a raw public key (p256)");
    }

    #[test]
    fn a_root_behind_the_leaf_is_not_needed() {
        let authority = Authority::generate().expect("an authority");
        let server = Identity::generate(&authority).expect("an identity");
        let alone = SentChain::read([server.certificate()]);
        assert_eq!(alone.unneeded(), None);
        let both = SentChain::read([server.certificate(), authority.certificate()]);
        let root = authority.certificate().len();
        assert_eq!(both.bytes(), alone.bytes() + root);
        let said = both.unneeded().expect("a root");
        assert!(said.ends_with(&format!("wirecost test CA {root} B")), "{said}");
        // The server's own certificate is needed, whoever issued it.
        assert_eq!(SentChain::read([authority.certificate()]).unneeded(), None);
    }
}
