//! What a channel that is not secure means: a certificate, an alert, a start that was not granted.

use wirecost_security::layer::Fault;

use super::{Cause, Diagnosis};
use crate::probe::options::Trusted;

impl Diagnosis<'_> {
    pub(super) fn insecure(&self, fault: &Fault) -> Cause {
        match fault {
            Fault::Certificate(reason) => self.certificate(reason),
            Fault::Alert(name) => Cause::refused(
                format!("{} ended the handshake by the alert {name}", self.remote),
                alert_hint(name),
            ),
            Fault::Start { .. } => Cause::refused(
                fault.to_string(),
                "the server gives no ticket that allows it; leave out --start to measure a cold start",
            ),
            fault => Cause::refused(
                fault.to_string(),
                "check the port and the scheme, or try --tls 1.2 or 1.3",
            ),
        }
    }

    /// Three things can be wrong with a certificate, and each has its own way out.
    fn certificate(&self, reason: &str) -> Cause {
        const ANYWAY: &str = "--insecure to measure anyway (bytes are the same, the report says so)";
        let host = &self.options.url.host;
        let reason = reason.trim_start_matches("invalid peer certificate: ");
        let reason = match reason {
            // Without the certificate itself nothing more is known of who issued it.
            "UnknownIssuer" | "its issuer is not trusted" => "its issuer is unknown",
            reason => reason,
        };
        let seen = self
            .certificate
            .map_or_else(String::new, |certificate| format!(" (it is {certificate})"));
        let complaint = reason.to_ascii_lowercase();
        let is = |words: &[&str]| words.iter().any(|word| complaint.contains(word));
        if is(&["expired", "not valid before", "not valid yet"]) {
            let text = format!("certificate for {host} is out of date: {reason}{seen}");
            return Cause::refused(
                text,
                format!("renew it on the server, and check this machine's clock; {ANYWAY}"),
            );
        }
        if is(&["not for", "not valid for name"]) {
            let text = format!("certificate for {host} has another name: {reason}{seen}");
            return Cause::refused(
                text,
                format!("use a name of the certificate in the URL; {ANYWAY}"),
            );
        }
        let store = match &self.options.trusted {
            Trusted::Authorities(all) => format!("not among the {} authorities trusted here", all.len()),
            Trusted::Anyone => "although anybody is trusted".to_owned(),
        };
        let issuer = self.certificate.map_or_else(
            || reason.to_owned(),
            |certificate| format!("issued by {:?}", certificate.issuer),
        );
        let text = format!("certificate for {host} is not trusted: {issuer}, {store}{seen}");
        Cause::refused(text, format!("--cacert FILE.pem to trust its issuer, {ANYWAY}"))
    }
}

/// RFC 8446, section 6.2: what an alert asks for.
fn alert_hint(name: &str) -> &'static str {
    match name {
        "protocol_version" => "try --tls 1.2 or --tls 1.3",
        "certificate_required"
        | "bad_certificate"
        | "unknown_ca"
        | "certificate_unknown"
        | "access_denied" => "the server wants a certificate that it knows: --cert FILE.pem --key FILE.pem",
        "unknown_psk_identity" | "decrypt_error" => "check the identity and the key: --psk IDENTITY:KEY",
        "unrecognized_name" => "the server does not know this host name: check the URL",
        "no_application_protocol" => "the server speaks another protocol on this port",
        "handshake_failure" => "no suite or certificate in common: try --tls, --psk, or --cert and --key",
        _ => "the server's log says why",
    }
}
