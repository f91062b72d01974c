//! Proton's Python client under TLS.

use crate::peers::{Server, client};
use crate::{filled, said, serve};

/// Sends a message through Proton; returns what it printed.
fn proton(server: &Server, authority: &str, user: &str) -> String {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/serve/proton_tls.py");
    let arguments = ["-B", script, "PORT", authority, user].map(|word| filled(server, word));
    // Debian's own interpreter has Debian's modules.
    let output = client("/usr/bin/python3", "python3-qpid-proton", &arguments);
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaints}{}", server.log());
    String::from_utf8(output.stdout).expect("text")
}

#[test]
#[ignore = "needs openssl and python3-qpid-proton"]
fn proton_sends_over_tls_to_a_trusted_server() {
    let server = serve("amqp --tls --ca-out ca.pem");
    said(
        &server,
        &["serving AMQP 1.0 on", "with TLS 1.3 and 1.2;", "ca.pem"],
    );
    assert_eq!(proton(&server, "@ca.pem", "-"), "accepted\n");
    said(&server, &["handshake complete, cold", "Received"]);
    let refused = proton(&server, "@other.pem", "-");
    assert!(refused.contains("certificate verify failed"), "{refused}");
    // Proton goes away without an alert.
    said(
        &server,
        &[
            "security failed: ",
            "it closed the connection during the handshake",
        ],
    );
}

#[test]
#[ignore = "needs openssl and python3-qpid-proton"]
fn proton_is_let_in_by_its_password() {
    let server = serve("amqp --tls --ca-out ca.pem --user me:secret");
    assert_eq!(proton(&server, "@ca.pem", "me:secret"), "accepted\n");
    for wrong in ["me:other", "-"] {
        let refused = proton(&server, "@ca.pem", wrong);
        assert!(refused.contains("amqp:unauthorized-access"), "{wrong}: {refused}");
    }
    said(&server, &["Refused"]);
}
