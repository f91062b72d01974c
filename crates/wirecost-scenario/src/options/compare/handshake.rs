//! The certificates and groups of the handshakes of a comparison.

use wirecost_results::resolved::Tree;
use wirecost_results::value::ValueError;
use wirecost_security::certificate::{self, Chain, KeyKind};
use wirecost_security::provider::{Choice, Groups};
use wirecost_stack::{Application, Channel, Stack};

use super::Options;
use crate::options::refusal::{About, Checked, refuse};
use crate::options::row::{Form, Kind, Names};

/// The certificates and groups of TLS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Handshake {
    /// Key and signatures of the certificates.
    pub certificate: KeyKind,
    /// Certificates that an end sends.
    pub chain: Chain,
    /// Groups of devices, the best first.
    pub group: Groups,
    /// Groups of the server; `None` if they are the same.
    pub server_group: Option<Groups>,
}

impl Handshake {
    /// The kind of every certificate.
    pub const fn kind(&self) -> certificate::Kind {
        certificate::Kind {
            key: self.certificate,
            chain: self.chain,
        }
    }

    /// What devices offer.
    pub const fn offered(&self) -> Choice {
        Choice {
            groups: self.group,
            key: self.certificate,
        }
    }

    /// What the server accepts.
    pub fn accepted(&self) -> Choice {
        Choice {
            groups: self.server_group.unwrap_or(self.group),
            key: self.certificate,
        }
    }

    /// Why a stack cannot have such a handshake; `None` if it can, or has none.
    pub fn refuses(&self, stack: Stack) -> Option<String> {
        let tls13 = match stack.channel {
            Channel::Tls13 => true,
            Channel::Tls12 => false,
            Channel::Plain if stack.application == Application::Http3 => true,
            Channel::Dtls13 | Channel::Dtls12 => return self.refuses_dtls(stack),
            Channel::Plain | Channel::Dtls12Psk | Channel::Dtls12Cid | Channel::Oscore => return None,
        };
        if !tls13 && self.certificate.needs_tls13() {
            let key = self.certificate;
            return Some(format!(
                "{stack} cannot have certificates with {key}: TLS 1.2 has no ML-DSA"
            ));
        }
        let (ours, theirs) = (self.group, self.accepted().groups);
        if ours.meets(theirs, tls13) {
            return None;
        }
        let why = match tls13 || !ours.meets(theirs, true) {
            true => format!("devices have {ours}, the server {theirs}"),
            false => format!("TLS 1.2 has no ML-KEM, and both ends have {ours} alone"),
        };
        Some(format!("{stack} has no common group: {why}"))
    }

    fn refuses_dtls(&self, stack: Stack) -> Option<String> {
        (*self != Self::default())
            .then(|| format!("{stack} has one P-256 leaf and X25519, so far: its library sends no chain"))
    }
}

impl Options {
    /// Other servers bring their own certificates and groups.
    pub(super) fn validate_handshake(&self) -> Checked {
        let own = Handshake::default();
        let asked = [
            ("certificate", self.handshake.certificate != own.certificate),
            ("chain", self.handshake.chain != own.chain),
            ("group", self.handshake.group != own.group),
            ("server_group", self.handshake.server_group.is_some()),
        ];
        let why =
            "it works with the built-in servers: other servers have certificates and groups of their own";
        for (key, is_asked) in asked {
            let is_foreign = is_asked && !self.target.is_builtin();
            refuse(About::Key(key), is_foreign.then_some(why))?;
            let is_idle = is_asked && !self.stacks.iter().any(has_certificates);
            let idle = "it would change nothing: of the stacks, none has a handshake with certificates";
            refuse(About::Key(key), is_idle.then_some(idle))?;
        }
        Ok(())
    }
}

/// Whether a stack's handshake has certificates and groups.
const fn has_certificates(stack: &Stack) -> bool {
    match stack.channel {
        Channel::Tls13 | Channel::Tls12 | Channel::Dtls13 | Channel::Dtls12 => true,
        Channel::Plain => matches!(stack.application, Application::Http3),
        Channel::Dtls12Psk | Channel::Dtls12Cid | Channel::Oscore => false,
    }
}

impl Names for KeyKind {
    const NAMES: &'static [&'static str] = Self::NAMES;
}

impl Names for Chain {
    const NAMES: &'static [&'static str] = Self::NAMES;
}

/// Groups by name, with commas between them.
#[derive(Debug)]
pub(super) struct GroupNames;

impl Form for GroupNames {
    type Value = Groups;
    const KIND: Kind = Kind::Text;

    fn read(text: &str) -> Result<Groups, ValueError> {
        crate::table::parsed(text)
    }

    fn write(groups: &Groups) -> Option<Tree> {
        Some(Tree::text(groups))
    }
}

/// The same, where they need not be given.
#[derive(Debug)]
pub(super) struct ServerGroup;

impl Form for ServerGroup {
    type Value = Option<Groups>;
    const KIND: Kind = Kind::Text;

    fn read(text: &str) -> Result<Option<Groups>, ValueError> {
        crate::table::parsed(text).map(Some)
    }

    fn write(groups: &Option<Groups>) -> Option<Tree> {
        groups.map(Tree::text)
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
            group: groups("x25519mlkem768"),
            ..Handshake::default()
        };
        let either = Handshake {
            group: groups("x25519mlkem768,x25519"),
            ..hybrid
        };
        let lacking = Handshake {
            server_group: Some(groups("p384")),
            ..either
        };
        let dilithium = Handshake {
            certificate: KeyKind::MlDsa65,
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
            ("coap-con+dtls1.2-psk", lacking, None),
            ("mqtt-qos1", lacking, None),
        ] {
            let said = refused(stack, handshake);
            assert_eq!(said.is_some(), why.is_some(), "{stack} {handshake:?}: {said:?}");
            let contains = said.unwrap_or_default().contains(why.unwrap_or_default());
            assert!(contains, "{stack} {handshake:?}");
        }
    }
}
