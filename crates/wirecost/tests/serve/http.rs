//! curl over TLS, and gtlsclient over QUIC.

use crate::common::Said;
use crate::peers::Server;
use crate::{client, said, serve};

fn curl(server: &Server, options: &str) -> Said {
    let arguments = format!("-sS -o /dev/null -w %{{http_code}} {options} https://127.0.0.1:PORT/test");
    client(server, "curl", "curl", &arguments)
}

#[test]
#[ignore = "needs openssl"]
fn curl_stores_and_fetches_over_tls() {
    let server = serve("http1 --tls --ca-out ca.pem");
    said(
        &server,
        &[
            "serving HTTP/1.1 on",
            "with TLS 1.3 and 1.2;",
            "curl --cacert ca.pem https://127.0.0.1:",
        ],
    );
    for version in ["--tlsv1.3", "--tls-max 1.2"] {
        let stored = curl(&server, &format!("--cacert @ca.pem {version} --data hello"));
        assert_eq!(stored.stdout, "204", "{version}: {}", stored.stderr);
        let fetched = curl(&server, &format!("--cacert @ca.pem {version}"));
        assert_eq!(fetched.stdout, "200", "{version}: {}", fetched.stderr);
    }
    // 60: the certificate cannot be authenticated.
    assert_eq!(curl(&server, "--cacert @other.pem").code, Some(60));
    said(&server, &["security failed: the peer sent the alert unknown_ca"]);
}

/// Posts the certificate of the authority, which is a file that is there.
fn gtlsclient(server: &Server) -> String {
    let arguments = "--no-quic-dump --no-http-dump --no-preferred-addr --exit-on-all-streams-close \
                     --session-file=@session --tp-file=@parameters --data=@own.pem --http-method=POST 127.0.0.1 PORT \
                     https://localhost/test";
    let posted = client(
        server,
        "gtlsclient",
        "ngtcp2-client",
        &arguments.replace("  ", " "),
    );
    assert_eq!(posted.code, Some(0), "{}{}", posted.stdout, posted.stderr);
    posted.stdout + &posted.stderr
}

#[test]
#[ignore = "needs openssl"]
fn gtlsclient_resumes_and_is_not_asked_for_early_data() {
    let server = serve("http3");
    said(&server, &["serving HTTP/3 on", "with TLS 1.3;"]);
    for _ in 0..2 {
        let posted = gtlsclient(&server);
        assert!(posted.contains("204"), "{posted}");
    }
    said(
        &server,
        &[
            "handshake complete, cold",
            "Answered",
            "handshake complete, resumed",
            "Answered",
        ],
    );
    assert!(
        !server.log().contains("early (may be replayed)"),
        "{}",
        server.log()
    );
}

#[test]
#[ignore = "needs openssl"]
fn gtlsclients_early_data_is_taken_with_consent() {
    let server = serve("http3 --accept-0rtt");
    for _ in 0..2 {
        let posted = gtlsclient(&server);
        assert!(posted.contains("204"), "{posted}");
    }
    said(
        &server,
        &[
            "handshake complete, cold",
            "early (may be replayed)",
            "handshake complete, 0rtt",
        ],
    );
}
