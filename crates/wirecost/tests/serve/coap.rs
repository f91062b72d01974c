//! coap-client of libcoap with OpenSSL and with GnuTLS under DTLS, and aiocoap under OSCORE.

use std::net::Ipv4Addr;

use wirecost_coap::edhoc::Identity;

use crate::common::Said;
use crate::peers::{Server, python_with};
use crate::{certificates, client, said, serve, serve_at};

const CLIENTS: [&str; 2] = ["coap-client-openssl", "coap-client-gnutls"];

/// Asks for `/test`, whose content is `wirecost`; gives up after two seconds.
fn get(server: &Server, program: &str, options: &str) -> Said {
    let arguments = format!("-B 2 -m get {options} coaps://127.0.0.1:PORT/test");
    client(server, program, "libcoap3-bin", &arguments)
}

fn is_answered(said: &Said) -> bool {
    said.stdout.trim() == "wirecost"
}

#[test]
#[ignore = "needs openssl"]
fn a_pre_shared_key_lets_in_and_another_does_not() {
    let server = serve("coap --psk me:secret --psk you:0x6f74686572");
    said(&server, &["serving CoAP on", "with DTLS 1.2, by pre-shared key;"]);
    for program in CLIENTS {
        for right in ["-u me -k secret", "-u you -k other"] {
            let answer = get(&server, program, right);
            assert!(is_answered(&answer), "{program} {right}: {answer:?}");
        }
    }
    let once = ["handshake complete, cold", "MessageReceived"];
    said(&server, &[once; 4].concat());
    for wrong in ["-u me -k other", "-u he -k secret"] {
        assert!(!is_answered(&get(&server, CLIENTS[0], wrong)), "{wrong}");
    }
    let refused = "the pre-shared key or its identity differs";
    said(&server, &[refused, refused]);
}

#[test]
#[ignore = "needs openssl"]
fn a_certificate_is_trusted_by_its_authority() {
    let server = serve("coap --dtls --ca-out ca.pem");
    said(
        &server,
        &["with DTLS 1.3 and 1.2;", "coap-client-openssl -R ca.pem coaps://"],
    );
    for program in CLIENTS {
        let answer = get(&server, program, "-R @ca.pem");
        assert!(is_answered(&answer), "{program}: {answer:?}");
    }
    assert!(!is_answered(&get(&server, CLIENTS[0], "-R @other.pem")));
    said(&server, &["security failed: the peer sent the alert unknown_ca"]);
}

#[test]
#[ignore = "needs openssl"]
fn clients_show_a_certificate_of_the_right_authority() {
    let server = serve("coap --dtls --cert server.pem --key server.key --client-ca own.pem");
    for program in CLIENTS {
        let answer = get(&server, program, "-R @own.pem -c @client.pem -j @client.key");
        assert!(is_answered(&answer), "{program}: {answer:?}");
    }
    assert!(!is_answered(&get(&server, CLIENTS[0], "-R @own.pem")));
    let stranger = get(
        &server,
        CLIENTS[0],
        "-R @own.pem -c @stranger.pem -j @stranger.key",
    );
    assert!(!is_answered(&stranger));
    let refused = "security failed: the peer's certificate is not accepted";
    said(&server, &["MessageReceived", "MessageReceived", refused, refused]);
}

#[test]
#[ignore = "needs openssl"]
fn certificate_and_key_stand_side_by_side() {
    let server = serve("coap --dtls --psk me:secret --ca-out ca.pem");
    said(
        &server,
        &["with DTLS 1.3 and 1.2, by certificate or pre-shared key;"],
    );
    for options in ["-u me -k secret", "-R @ca.pem"] {
        let answer = get(&server, CLIENTS[0], options);
        assert!(is_answered(&answer), "{options}: {answer:?}");
    }
}

/// RFC 6347 section 4.2.1: a HelloVerifyRequest, which the client answers with its cookie.
#[test]
#[ignore = "needs openssl"]
fn an_open_server_asks_for_a_cookie_first() {
    let server = serve_at(
        Ipv4Addr::UNSPECIFIED,
        certificates(),
        "coap --psk me:secret --open",
    );
    for program in CLIENTS {
        let answer = get(&server, program, "-v 7 -u me -k secret");
        assert!(answer.stdout.contains("wirecost"), "{program}: {answer:?}");
    }
    let hello = "read hello verify request";
    let seen = get(&server, CLIENTS[0], "-v 7 -u me -k secret");
    let shown = format!("{}{}", seen.stdout, seen.stderr).to_lowercase();
    assert!(shown.contains(hello), "{shown}");
}

#[test]
#[ignore = "needs openssl and the Python packages"]
fn only_an_oscore_client_is_admitted() {
    let secret = "000102030405060708090a0b0c0d0e0f";
    let server = serve(&format!("coap --oscore c1:01:{secret}:9e7ca92223786340"));
    said(&server, &["serving CoAP on", "with OSCORE;"]);
    let seen = python_with(
        "serve/aiocoap_oscore.py",
        &server,
        &["c1", "01", secret, "9e7ca92223786340"],
    );
    assert_eq!(
        seen.lines().collect::<Vec<_>>(),
        [
            "2.04 Changed",
            "2.05 Content protected",
            "observed 2",
            "4.01 Unauthorized",
            "refused"
        ]
    );
}

#[test]
#[ignore = "needs openssl and the Python packages"]
fn only_a_client_that_agrees_by_edhoc_is_admitted() {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let keys = [([0x11; 32], "client", 0x2b), ([0x22; 32], "server", 0x32)];
    let [client, server] = keys.map(|(key, subject, kid)| {
        let identity = Identity::with_subject(key, subject, kid).expect("a key of P-256");
        [hex(&key), hex(identity.credential().claims())]
    });
    let serving = serve(&format!("coap --edhoc {}:{}:{}", server[0], server[1], client[1]));
    said(&serving, &["serving CoAP on", "with EDHOC and OSCORE;"]);
    for style in ["by-key-id", "by-value"] {
        let seen = python_with(
            "../../wirecost-coap/tests/oscore_interop/edhoc_peer.py",
            &serving,
            &["ask", style, &client[0], &client[1], &server[1]],
        );
        let expected = ["2.04 Changed", "2.05 Content 20 True", "refused"];
        assert_eq!(seen.lines().collect::<Vec<_>>(), expected, "{style}");
    }
    let plain = client_without_protection(&serving);
    assert!(plain.stdout.contains("4.01"), "{plain:?}");
}

/// Asks for `/test` without OSCORE.
fn client_without_protection(server: &Server) -> Said {
    client(
        server,
        CLIENTS[0],
        "libcoap3-bin",
        "-B 2 -v 6 -m get coap://127.0.0.1:PORT/test",
    )
}
