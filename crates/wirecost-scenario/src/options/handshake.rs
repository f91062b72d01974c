//! The certificates and groups of handshakes with TLS.

use serde::{Deserialize, Serialize};
use wirecost_security::certificate::{self, Chain, KeyKind};
use wirecost_security::provider::{Choice, Cipher, Groups};
use wirecost_stack::{Application, Channel, Stack};

use super::common::{
    CertificateKey, ChainOf, ChainText, CipherName, CipherOfRecords, Group, GroupNames, LeafKey, ServerGroup,
};
use super::refusal::{About, Checked, refuse};
use super::row::{Form, Row, Rows, SharedRow, of_kind};
use crate::certificates;

/// The certificates and groups of TLS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Texts", try_from = "Texts")]
pub struct Handshake {
    /// Key and signatures of the certificates; `None` is the key of the chain, which is P-256 where it has none.
    pub certificate: Option<KeyKind>,
    /// Certificates that an end sends.
    pub chain: Chain,
    /// Groups of devices, the best first; `None` is X25519 with the built-in servers, and with others all groups of the library.
    pub group: Option<Groups>,
    /// Groups of the server; `None` if they are the same.
    pub server_group: Option<Groups>,
    /// The cipher of records, at both ends; `None` is AES-128-GCM with the built-in servers, and with others all ciphers of the library.
    pub cipher: Option<Cipher>,
    /// Whether DTLS has a P-256 leaf of its own beside a chain for TLS, which its library cannot send.
    pub dtls_leaf: bool,
}

impl Handshake {
    /// The kind of every certificate.
    pub fn kind(&self) -> certificate::Kind {
        let of_chain = certificate::Kind::from(self.chain);
        certificate::Kind {
            key: self.certificate.unwrap_or(of_chain.key),
            ..of_chain
        }
    }

    /// Whether a stack among these has such a handshake.
    pub fn is_of(stacks: &[Stack]) -> bool {
        stacks.iter().any(has_certificates)
    }

    /// The handshake with a public broker of those stacks: its certificates, and a leaf where a stack has DTLS, which no public broker
    /// speaks.
    #[must_use]
    pub fn with_public_broker(self, stacks: &[Stack]) -> Self {
        if !stacks.iter().any(has_tls_certificates) {
            return self;
        }
        Self {
            chain: certificates::public_broker(),
            dtls_leaf: stacks.iter().any(has_dtls_certificates),
            ..self
        }
    }

    /// The same for some of its stacks: that of a comparison where none of them has one with certificates.
    #[must_use]
    pub fn among(self, stacks: &[Stack]) -> Self {
        match Self::is_of(stacks) {
            true => self,
            false => Self::default(),
        }
    }

    /// What devices offer.
    pub fn offered(&self) -> Choice {
        Choice {
            groups: self.group.unwrap_or_default(),
            key: self.kind().key,
            cipher: self.cipher.unwrap_or_default(),
        }
    }

    /// What the server accepts.
    pub fn accepted(&self) -> Choice {
        let offered = self.offered();
        Choice {
            groups: self.server_group.unwrap_or(offered.groups),
            ..offered
        }
    }

    /// Why a stack cannot have such a handshake; `None` if it can, or has none.
    pub fn refuses(&self, stack: Stack) -> Option<String> {
        let tls13 = match stack.channel {
            Channel::Tls13 => true,
            Channel::Tls12 => false,
            // QUIC has TLS 1.3 within it (RFC 9001), whatever the channel says.
            Channel::Plain if stack.application == Application::Http3 => true,
            Channel::Dtls13 | Channel::Dtls12 => return self.refuses_dtls(stack),
            // No certificates and no groups: a pre-shared key needs neither.
            Channel::Plain | Channel::Dtls12Psk | Channel::Dtls12Cid | Channel::Oscore => return None,
        };
        let certificate::Kind { key, chain } = self.kind();
        if !tls13 && chain == Chain::RawPublicKey {
            return Some(format!(
                "{stack} cannot have raw public keys (RFC 7250): the library has them in TLS 1.3 and HTTP/3 alone"
            ));
        }
        if !tls13 && key.needs_tls13() {
            return Some(format!(
                "{stack} cannot have certificates with {key}: TLS 1.2 has no ML-DSA"
            ));
        }
        let (ours, theirs) = (self.offered().groups, self.accepted().groups);
        if ours.meets(theirs, tls13) {
            return None;
        }
        let why = match tls13 || !ours.meets(theirs, true) {
            true => format!("devices have {ours}, the server {theirs}"),
            false => format!("TLS 1.2 has no ML-KEM, and both ends have {ours} alone"),
        };
        Some(format!("{stack} has no common group: {why}"))
    }

    /// Whether DTLS has a leaf on P-256 beside the certificates of TLS. Stacks of DTLS with certificates run with it only where
    /// `dtls_leaf` says so; those with a pre-shared key never send it, but their server takes no other kind either.
    pub fn has_dtls_leaf(&self) -> bool {
        self.dtls_leaf || self.kind() != certificate::Kind::default()
    }

    fn refuses_dtls(&self, stack: Stack) -> Option<String> {
        let has_leaf = self.dtls_leaf || self.kind() == certificate::Kind::default();
        let groups = [self.offered().groups, self.accepted().groups];
        let is_other = !has_leaf || groups != [Groups::default(); 2] || self.has_other_cipher();
        is_other.then(|| {
            format!(
                "{stack} has one P-256 leaf and X25519 with AES-128-GCM, so far: its library sends no chain and no raw public key"
            )
        })
    }

    /// Whether its cipher is not that of a comparison.
    fn has_other_cipher(&self) -> bool {
        self.offered().cipher != Cipher::default()
    }

    /// Checks that the leaf of the chain has the key that is asked for.
    ///
    /// # Errors
    /// It has another one.
    pub fn validate_chain(&self) -> Checked {
        let other = self.chain.sizes().zip(self.certificate);
        let other = other.filter(|(sizes, key)| sizes.key() != *key);
        let other = other.map(|(sizes, key)| {
            format!(
                "it is {key}, and the chain {} has a leaf with {}",
                self.chain,
                sizes.key()
            )
        });
        refuse(About::Key("certificate"), other.as_deref())
    }

    /// Checks that its options fit each other, the stacks and the server: other servers than the built-in ones bring their own
    /// certificates and groups.
    ///
    /// # Errors
    /// The first option that does not.
    pub fn validate(&self, server: ServerOf, stacks: &[Stack]) -> Checked {
        self.validate_chain()?;
        let is_foreign = server != ServerOf::Own;
        let asked = [
            ("certificate", self.certificate.is_some(), is_foreign),
            ("chain", self.chain != Chain::default(), is_foreign),
            // Devices may offer what they like to a server that runs already.
            ("group", self.group.is_some(), server == ServerOf::Started),
            ("server_group", self.server_group.is_some(), is_foreign),
            ("cipher", self.has_other_cipher(), server == ServerOf::Started),
            ("dtls_leaf", self.dtls_leaf, is_foreign),
        ];
        let foreign =
            "it works with the built-in servers: other servers have certificates and groups of their own";
        let idle = "it would change nothing: of the stacks, none has a handshake with certificates";
        // Who asks for a certificate and gets figures without one would take them for figures with it.
        let is_idle = !Self::is_of(stacks);
        for (key, _, is_foreign) in asked.into_iter().filter(|(_, is_asked, _)| *is_asked) {
            refuse(About::Key(key), is_foreign.then_some(foreign))?;
            refuse(About::Key(key), is_idle.then_some(idle))?;
        }
        Ok(())
    }
}

/// Whether a stack's handshake has certificates and groups.
const fn has_certificates(stack: &Stack) -> bool {
    has_tls_certificates(stack) || has_dtls_certificates(stack)
}

/// The same with TLS or QUIC.
const fn has_tls_certificates(stack: &Stack) -> bool {
    match stack.channel {
        Channel::Tls13 | Channel::Tls12 => true,
        Channel::Plain => matches!(stack.application, Application::Http3),
        Channel::Dtls13 | Channel::Dtls12 | Channel::Dtls12Psk | Channel::Dtls12Cid | Channel::Oscore => {
            false
        }
    }
}

/// The same with DTLS.
const fn has_dtls_certificates(stack: &Stack) -> bool {
    matches!(stack.channel, Channel::Dtls13 | Channel::Dtls12)
}

/// The heading of its flags in the help of commands that have no other options by rows.
const SECURITY: &str = "Security";

impl Rows for Handshake {
    const ROWS: &'static [Row<Self>] = &[
        Row::new(
            (
                "certificate",
                LeafKey::DOC,
                LeafKey::SPEC.below(SECURITY).further(),
            ),
            of_kind(CertificateKey::KIND),
            Some(|text, own| {
                own.certificate = CertificateKey::read(text)?;
                Ok(())
            }),
            |own| CertificateKey::write(&own.certificate),
        ),
        Row::new(
            ("chain", ChainOf::DOC, ChainOf::SPEC.below(SECURITY).further()),
            of_kind(ChainText::KIND),
            Some(|text, own| {
                own.chain = ChainText::read(text)?;
                Ok(())
            }),
            |own| ChainText::write(&own.chain),
        ),
        Row::new(
            ("group", Group::DOC, Group::SPEC.below(SECURITY).further()),
            of_kind(GroupNames::KIND),
            Some(|text, own| {
                own.group = GroupNames::read(text)?;
                Ok(())
            }),
            |own| GroupNames::write(&own.group),
        ),
        Row::new(
            (
                "server_group",
                ServerGroup::DOC,
                ServerGroup::SPEC.below(SECURITY).further(),
            ),
            of_kind(GroupNames::KIND),
            Some(|text, own| {
                own.server_group = GroupNames::read(text)?;
                Ok(())
            }),
            |own| GroupNames::write(&own.server_group),
        ),
        Row::new(
            (
                "cipher",
                CipherOfRecords::DOC,
                CipherOfRecords::SPEC.below(SECURITY).further(),
            ),
            of_kind(CipherName::KIND),
            Some(|text, own| {
                own.cipher = CipherName::read(text)?;
                Ok(())
            }),
            |own| CipherName::write(&own.cipher),
        ),
    ];

    fn defaults() -> Self {
        Self::default()
    }
}

/// Whose server it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerOf {
    /// A built-in one.
    Own,
    /// One of other makers, which wirecost starts.
    Started,
    /// One that runs already.
    Running,
}

/// The texts of a handshake, for other processes.
#[derive(Serialize, Deserialize)]
struct Texts {
    certificate: Option<String>,
    chain: String,
    group: Option<String>,
    server_group: Option<String>,
    cipher: Option<String>,
    dtls_leaf: bool,
}

impl From<Handshake> for Texts {
    fn from(handshake: Handshake) -> Self {
        Self {
            certificate: handshake.certificate.map(|key| key.to_string()),
            chain: handshake.chain.to_string(),
            group: handshake.group.map(|groups| groups.to_string()),
            server_group: handshake.server_group.map(|groups| groups.to_string()),
            cipher: handshake.cipher.map(|cipher| cipher.to_string()),
            dtls_leaf: handshake.dtls_leaf,
        }
    }
}

impl TryFrom<Texts> for Handshake {
    type Error = String;

    fn try_from(texts: Texts) -> Result<Self, String> {
        let groups = |text: Option<String>| text.map(|text| text.parse::<Groups>()).transpose();
        Ok(Self {
            certificate: texts.certificate.map(|text| text.parse()).transpose()?,
            // Another process writes sizes, never the name of a file.
            chain: certificates::chain_without_files(&texts.chain)?,
            group: groups(texts.group)?,
            server_group: groups(texts.server_group)?,
            cipher: texts.cipher.map(|text| text.parse()).transpose()?,
            dtls_leaf: texts.dtls_leaf,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(stack: &str, handshake: Handshake) -> Option<String> {
        handshake.refuses(stack.parse().expect(stack))
    }

    #[test]
    fn a_cell_that_no_version_defines_says_why() {
        let groups = |text: &str| text.parse::<Groups>().expect(text);
        let hybrid = Handshake {
            group: Some(groups("x25519mlkem768")),
            ..Handshake::default()
        };
        let either = Handshake {
            group: Some(groups("x25519mlkem768,x25519")),
            ..hybrid
        };
        let lacking = Handshake {
            server_group: Some(groups("p384")),
            ..either
        };
        let dilithium = Handshake {
            certificate: Some(KeyKind::MlDsa65),
            ..Handshake::default()
        };
        let public = Handshake {
            chain: certificates::chain("aws").expect("a profile"),
            ..Handshake::default()
        };
        let beside = Handshake {
            dtls_leaf: true,
            ..public
        };
        let raw = Handshake {
            chain: Chain::RawPublicKey,
            ..Handshake::default()
        };
        for (stack, handshake, why) in [
            ("mqtt-qos1+tls1.2", hybrid, Some("TLS 1.2 has no ML-KEM")),
            ("mqtt-qos1+tls1.2", either, None),
            ("mqtt-qos1+tls1.3", hybrid, None),
            (
                "http3",
                lacking,
                Some("devices have x25519mlkem768,x25519, the server p384"),
            ),
            ("mqtt-qos1+tls1.2", dilithium, Some("TLS 1.2 has no ML-DSA")),
            ("coap-con+dtls1.3", dilithium, Some("one P-256 leaf and X25519")),
            ("coap-con+dtls1.3", public, Some("one P-256 leaf and X25519")),
            ("coap-con+dtls1.3", beside, None),
            (
                "coap-con+dtls1.2",
                Handshake {
                    group: hybrid.group,
                    ..beside
                },
                Some("one P-256 leaf and X25519"),
            ),
            ("mqtt-qos1+tls1.2", beside, None),
            (
                "mqtt-qos1+tls1.2",
                raw,
                Some("the library has them in TLS 1.3 and HTTP/3 alone"),
            ),
            ("coap-con+dtls1.3", raw, Some("no raw public key")),
            ("mqtt-qos1+tls1.3", raw, None),
            ("http3", raw, None),
            ("coap-con+dtls1.2-psk", lacking, None),
            ("mqtt-qos1", lacking, None),
        ] {
            let said = refused(stack, handshake);
            assert_eq!(said.is_some(), why.is_some(), "{stack} {handshake:?}: {said:?}");
            let contains = said.unwrap_or_default().contains(why.unwrap_or_default());
            assert!(contains, "{stack} {handshake:?}");
        }
    }

    #[test]
    fn a_public_broker_has_a_chain_for_tls_and_dtls_keeps_its_leaf() {
        let stacks =
            |names: &[&str]| -> Vec<Stack> { names.iter().map(|name| name.parse().expect(name)).collect() };
        let of = |names: &[&str]| Handshake::default().with_public_broker(&stacks(names));
        assert_eq!(of(&["coap-con+oscore", "coap-con+dtls1.3"]), Handshake::default());
        let both = of(&["http3", "coap-con+dtls1.3"]);
        assert_eq!(both.chain.to_string(), "letsencrypt-ecdsa");
        assert!(both.dtls_leaf && !of(&["http3", "coap-con+oscore"]).dtls_leaf);
        // Of its stacks alone, those without certificates have no use for it.
        assert_eq!(both.among(&stacks(&["coap-con+oscore"])), Handshake::default());
        assert_eq!(both.among(&stacks(&["coap-con+dtls1.3"])), both);
        for stack in stacks(&["http3", "coap-con+dtls1.3", "mqtt-qos1+tls1.2"]) {
            assert_eq!(both.refuses(stack), None, "{stack}");
        }
    }

    #[test]
    fn a_handshake_survives_its_texts() {
        for chain in ["leaf", "letsencrypt-ecdsa", "rsa2048:1300+1290"] {
            let handshake = Handshake {
                chain: certificates::chain(chain).expect(chain),
                group: "p256,x25519".parse().ok(),
                cipher: Some(Cipher::Chacha20Poly1305),
                dtls_leaf: true,
                ..Handshake::default()
            };
            let texts = serde_json::to_string(&handshake).expect("a text");
            assert_eq!(serde_json::from_str::<Handshake>(&texts).ok(), Some(handshake));
        }
    }

    #[test]
    fn a_chain_with_another_key_is_refused() {
        let handshake = Handshake {
            certificate: Some(KeyKind::P384),
            chain: certificates::chain("aws").expect("a profile"),
            ..Handshake::default()
        };
        let http3 = ["http3".parse().expect("a stack")];
        let refusal = handshake
            .validate(ServerOf::Own, &http3)
            .expect_err("another key");
        assert!(
            refusal
                .to_string()
                .contains("the chain aws has a leaf with rsa2048"),
            "{refusal}"
        );
        let group = Handshake {
            group: "p256".parse().ok(),
            ..Handshake::default()
        };
        assert!(group.validate(ServerOf::Started, &http3).is_err());
        assert!(group.validate(ServerOf::Running, &http3).is_ok());
        assert!(
            group
                .validate(ServerOf::Running, &["mqtt-qos1".parse().expect("a stack")])
                .is_err()
        );
    }
}
