//! mosquitto_pub under TLS: versions, certificates of either side, users.

use crate::common::Said;
use crate::peers::Server;
use crate::{certificates, client, said, self_signed, serve, serve_in};

fn publish(server: &Server, options: &str) -> Said {
    let arguments = format!("-h 127.0.0.1 -p PORT -t test -m hello -q 1 {options}");
    client(server, "mosquitto_pub", "mosquitto-clients", &arguments)
}

#[test]
#[ignore = "needs openssl"]
fn both_tls_versions_work_with_a_generated_certificate() {
    let server = serve("mqtt --tls --ca-out ca.pem");
    assert!(
        server.log().starts_with("serving MQTT on 127.0.0.1:"),
        "{}",
        server.log()
    );
    said(
        &server,
        &[
            "with TLS 1.3 and 1.2;",
            "clients trust ca.pem: mosquitto_pub --cafile ca.pem",
        ],
    );
    for version in ["tlsv1.2", "tlsv1.3"] {
        let published = publish(&server, &format!("--cafile @ca.pem --tls-version {version}"));
        assert_eq!(published.code, Some(0), "{version}: {}", published.stderr);
    }
    let once = ["handshake complete, cold", "Published"];
    said(&server, &[once, once].concat());
}

#[test]
#[ignore = "needs openssl"]
fn a_client_with_another_authority_disconnects() {
    let server = serve("mqtt --tls --cert server.pem --key server.key");
    assert!(!server.log().contains("clients trust"), "{}", server.log());
    assert_eq!(publish(&server, "--cafile @own.pem").code, Some(0));
    assert_ne!(publish(&server, "--cafile @other.pem").code, Some(0));
    said(
        &server,
        &["Published", "security failed: the peer sent the alert unknown_ca"],
    );
    assert_ne!(publish(&server, "-V mqttv5").code, Some(0), "without TLS");
    said(&server, &["security failed: the peer does not speak TLS"]);
}

#[test]
#[ignore = "needs openssl"]
fn clients_show_a_certificate_of_the_right_authority() {
    let server = serve("mqtt --tls --cert server.pem --key server.key --client-ca own.pem");
    said(&server, &["with TLS 1.3 and 1.2, clients need a certificate;"]);
    for version in ["tlsv1.2", "tlsv1.3"] {
        let publish = |options: &str| {
            publish(
                &server,
                &format!("--cafile @own.pem --tls-version {version} {options}"),
            )
        };
        let own = publish("--cert @client.pem --key @client.key");
        assert_eq!(own.code, Some(0), "{version}: {}", own.stderr);
        assert_ne!(publish("-d").code, Some(0), "{version}, none");
        let stranger = publish("--cert @stranger.pem --key @stranger.key");
        assert_ne!(stranger.code, Some(0), "{version}, a stranger's");
    }
    let refused = "security failed: the peer's certificate is not accepted";
    let once = ["Published", refused, refused];
    said(&server, &[once, once].concat());
}

#[test]
#[ignore = "needs openssl"]
fn users_are_let_in_by_their_password() {
    let server = serve("mqtt --user me:secret --user you:other");
    assert_eq!(publish(&server, "-u me -P secret").code, Some(0));
    assert_eq!(publish(&server, "-u you -P other").code, Some(0));
    for wrong in ["-u me -P other", "-u nobody -P secret", "-d"] {
        assert_ne!(publish(&server, wrong).code, Some(0), "{wrong}");
    }
}

#[test]
#[ignore = "needs openssl"]
fn a_certificate_that_openssl_made_for_an_rsa_key_is_used() {
    let folder = certificates();
    let names = "-addext subjectAltName=IP:127.0.0.1 -addext basicConstraints=critical,CA:FALSE";
    self_signed(folder.path(), "rsa", "rsa:2048", names);
    let server = serve_in(folder, "mqtt --tls --cert rsa.pem --key rsa.key");
    for version in ["tlsv1.2", "tlsv1.3"] {
        let published = publish(&server, &format!("--cafile @rsa.pem --tls-version {version}"));
        assert_eq!(
            published.code,
            Some(0),
            "{version}: {}{}",
            published.stderr,
            server.log()
        );
    }
}
