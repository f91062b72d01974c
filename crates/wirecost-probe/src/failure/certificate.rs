//! What is wrong with a server's certificate, and what to do: `probe` and `load` use the same words.

use std::net::SocketAddr;
use std::time::Duration;

use wirecost_live::Clock;
use wirecost_security::tls::Flaw;
use wirecost_stack::url::Url;

use crate::options::{Options, Trust};
use crate::{environment, peer_certificate};
use wirecost_security::certificate::x509::{Certificate, Presented};

const ANYWAY: &str = "--insecure to measure anyway (bytes are the same, the report says so)";

const SERVERS_OWN: &str = "give the server one that the authority has issued, or make it without that right: openssl req \
                           -x509 with -addext basicConstraints=critical,CA:FALSE; --cacert FILE.pem with this very \
                           certificate accepts it, ";

const WHOLE_CHAIN: &str = "; if the issuer is an intermediate authority, the server has to send the whole chain: its own certificate and \
                           the intermediate ones in one file";

/// How long a server may take to send its certificate again.
const PATIENCE: Duration = Duration::from_secs(2);

/// A certificate that the client refused.
pub struct Refused<'a> {
    /// The host in the URL.
    pub host: &'a str,
    /// What is wrong with the certificate: a sentence whose subject is the certificate.
    pub reason: &'a str,
    /// The certificate, where the server sent it again.
    pub seen: Option<&'a Presented>,
    /// The authorities that the client trusts.
    pub trusted: &'a Trust,
}

impl Refused<'_> {
    /// The cause in one sentence, and what to do.
    pub fn explanation(&self) -> [String; 2] {
        let Self { host, reason, .. } = self;
        let seen = self
            .seen
            .map_or_else(String::new, |presented| format!(" (it is {})", presented.own));
        let (cause, hint) = match Flaw::from_complaint(reason) {
            Flaw::OutOfDate => (
                format!("is out of date: {reason}"),
                "renew it on the server, and check this machine's clock; ",
            ),
            Flaw::OtherName => (
                format!("has another name: {reason}"),
                "use a name of the certificate in the URL; ",
            ),
            Flaw::UnknownIssuer => (
                format!("is not trusted: {}", self.issuer()),
                "--cacert FILE.pem to trust its issuer, ",
            ),
            Flaw::OfAnAuthority => (format!("is not accepted: {reason}"), SERVERS_OWN),
            Flaw::Other => (
                format!("is not accepted: {reason}"),
                "give the server another one; ",
            ),
        };
        let is_of_stranger = Flaw::from_complaint(reason) == Flaw::UnknownIssuer;
        let chain = match is_of_stranger && self.lacks_intermediate() {
            true => WHOLE_CHAIN,
            false => "",
        };
        [
            format!("certificate for {host} {cause}{seen}"),
            format!("{hint}{ANYWAY}{chain}"),
        ]
    }

    /// Whether the server may have left out a certificate between its own and a trusted authority: it sent its own alone, which is
    /// neither its own issuer nor issued by an authority with a name that is trusted.
    fn lacks_intermediate(&self) -> bool {
        let Some(Presented { own, is_alone: true }) = self.seen else {
            return false;
        };
        let is_of =
            |authority: &Vec<u8>| Certificate::read(authority).is_some_and(|read| read.subject == own.issuer);
        let is_known = match self.trusted {
            Trust::Authorities(all) => all.iter().any(is_of),
            Trust::Anyone => true,
        };
        own.issuer != own.subject && !is_known
    }

    fn issuer(&self) -> String {
        let store = match self.trusted {
            Trust::Authorities(all) if all.len() == 1 => "not the authority trusted here".to_owned(),
            Trust::Authorities(all) => format!("not among the {} authorities trusted here", all.len()),
            Trust::Anyone => "although every server is trusted".to_owned(),
        };
        match (self.seen, self.reason) {
            (Some(presented), _) if self.lacks_intermediate() => format!(
                "issued by {:?}, {store}, and the server sent no certificate of its issuer",
                presented.own.issuer
            ),
            (Some(presented), _) => format!("issued by {:?}, {store}", presented.own.issuer),
            // Only the certificate names its issuer.
            (None, "its issuer is not trusted") => format!("its issuer is unknown, {store}"),
            (None, reason) => format!("{reason}, {store}"),
        }
    }
}

/// Explains why the client refused the certificate of `remote` for a `reason`, and what to do. It asks the server for the
/// certificate again.
pub fn explain(url: &Url, remote: SocketAddr, reason: &str, trusted: Trust) -> [String; 2] {
    let options = Options {
        trusted,
        timeout: PATIENCE,
        keeps_keys: false,
        ..Options::new(url.clone())
    };
    let clock = Clock::start();
    let environment = environment(&options, clock);
    let seen = environment.and_then(|environment| peer_certificate(&options, &environment, remote, clock));
    Refused {
        host: &url.host,
        reason,
        seen: seen.ok().flatten().as_ref(),
        trusted: &options.trusted,
    }
    .explanation()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thing_that_can_be_wrong_has_its_own_way_out() {
        let certificate = Certificate {
            subject: "lab".into(),
            issuer: "lab CA".into(),
            expires: "2036-01-01".into(),
            is_root: false,
        };
        let presented = Presented {
            own: certificate.clone(),
            is_alone: false,
        };
        let told = |reason, seen: Option<&Certificate>| {
            let seen = seen.map(|_| &presented);
            let refused = Refused {
                host: "broker.lab",
                reason,
                seen,
                trusted: &Trust::Authorities(vec![Vec::new(); 2]),
            };
            refused.explanation().join("\n")
        };
        let seen = "(it is \"lab\", issued by \"lab CA\", valid until 2036-01-01)";
        let issuer = format!(
            "certificate for broker.lab is not trusted: issued by \"lab CA\", not among the 2 authorities trusted here {seen}\n\
             --cacert FILE.pem to trust its issuer, {ANYWAY}"
        );
        assert_eq!(told("its issuer is not trusted", Some(&certificate)), issuer);
        assert_eq!(told("its signature is wrong", Some(&certificate)), issuer);
        assert!(told("its issuer is not trusted", None).contains("its issuer is unknown, not among the 2"));
        let own = told(
            "it belongs to an authority (CA:TRUE), not to a server",
            Some(&certificate),
        );
        let cause = "is not accepted: it belongs to an authority (CA:TRUE), not to a server (it is";
        assert!(
            own.contains(cause) && own.contains("CA:FALSE") && own.contains("--insecure"),
            "{own}"
        );
        assert!(
            own.contains("--cacert FILE.pem with this very certificate"),
            "{own}"
        );
        let kind = told(
            "its signature algorithm does not match its issuer's key",
            Some(&certificate),
        );
        assert!(
            kind.contains("is not accepted: its signature algorithm does not match its issuer's key (it is")
                && !kind.contains("--cacert"),
            "{kind}"
        );
        let name = told(
            "it is not for expired.lab, but for broker.lab",
            Some(&certificate),
        );
        assert!(
            name.contains("has another name: it is not for expired.lab, but for broker.lab (it is")
                && name.contains("use a name of the certificate"),
            "{name}"
        );
        let alone = Presented {
            is_alone: true,
            ..presented.clone()
        };
        let refused = Refused {
            host: "broker.lab",
            reason: "its issuer is not trusted",
            seen: Some(&alone),
            trusted: &Trust::Authorities(vec![Vec::new(); 2]),
        };
        let [cause, hint] = refused.explanation();
        assert!(
            cause.contains(
                "issued by \"lab CA\", not among the 2 authorities trusted here, and the server sent no certificate of its issuer"
            ),
            "{cause}"
        );
        assert!(
            hint.contains("has to send the whole chain") && hint.contains("--cacert"),
            "{hint}"
        );
        let itself = Presented {
            own: Certificate {
                issuer: "lab".into(),
                ..certificate.clone()
            },
            is_alone: true,
        };
        let refused = Refused {
            seen: Some(&itself),
            ..refused
        };
        assert!(
            !refused.explanation().join("").contains("chain"),
            "it has no issuer but itself"
        );
        let other = told("it has been revoked", None);
        assert!(
            other.contains("is not accepted: it has been revoked\ngive the server another one; "),
            "{other}"
        );
    }
}
