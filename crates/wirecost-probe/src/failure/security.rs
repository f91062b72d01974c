//! Failures of TLS and DTLS: a refused certificate, an alert, a start that the server did not grant.

use wirecost_security::layer::Fault;

use super::certificate::Refused;
use super::{Cause, Diagnosis};

impl Diagnosis<'_> {
    pub(super) fn insecure(&self, fault: &Fault) -> Cause {
        match fault {
            Fault::Certificate(reason) => self.certificate(reason.as_str()),
            Fault::Alert(name) => Cause::refused(
                format!("{} ended the handshake by the alert {name}", self.remote),
                alert_hint(name.as_str()),
            ),
            Fault::Start { .. } => Cause::refused(
                fault.to_string(),
                "the server gives no ticket that allows it; leave out --start to measure a cold start",
            ),
            Fault::CutOff(reason) => self.broken(*reason),
            fault => Cause::refused(
                fault.to_string(),
                "check the port and the scheme, or try --tls-version 1.2 or 1.3",
            ),
        }
    }

    fn certificate(&self, reason: &str) -> Cause {
        let refused = Refused {
            host: &self.options.url.host,
            reason,
            seen: self.certificate,
            trusted: &self.options.trusted,
        };
        let [text, hint] = refused.explanation();
        Cause::refused(text, hint)
    }
}

/// What to do about an alert (RFC 8446, section 6.2).
fn alert_hint(name: &str) -> &'static str {
    match name {
        "protocol_version" => "try --tls-version 1.2 or 1.3",
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
