//! The same tests inside TLS.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use wirecost_http::http1::{Client, ClientConfig, Server, ServerConfig};
use wirecost_http::message::Method;
use wirecost_security::certificate::{Authority, Identity, VALID_FROM};
use wirecost_security::layer::Event;
use wirecost_security::{Epoch, Start, tls};

use crate::caddy::{Asked, Caddy, ask};
use crate::curl::{curl, printed};
use crate::driver::Running;
use crate::need;

fn epoch() -> Epoch {
    Epoch {
        monotonic: std::time::Instant::now(),
        unix: VALID_FROM + Duration::from_secs(365 * 86_400),
    }
}

#[test]
#[ignore = "needs curl"]
fn curl_asks_our_server_within_tls() {
    need("curl");
    let authority = Authority::generate().unwrap();
    let options = tls::ServerOptions::new(epoch(), Identity::generate(&authority).unwrap());
    let config = tls::ServerConfig::new(options).unwrap();
    let server = Running::start(tls::Server::new(&config, Server::new(ServerConfig::default())));
    let folder = tempfile::tempdir().unwrap();
    let trusted = folder.path().join("authority.pem");
    std::fs::write(&trusted, authority.to_pem().unwrap()).unwrap();
    let (trusted, port) = (trusted.to_string_lossy(), server.address.port());
    let (name, url) = (
        format!("server:{port}:127.0.0.1"),
        format!("https://server:{port}/test"),
    );
    for most in ["1.2", "1.3"] {
        let text = printed(curl(&[
            "--cacert",
            &trusted,
            "--resolve",
            &name,
            "--tls-max",
            most,
            "-d",
            "hello",
            &url,
            &url,
        ]));
        let done = "HTTP/1.1 204 No Content\r\n\r\n";
        assert_eq!(text, [done, done].concat(), "TLS {most}");
    }
    let (server, connections) = server.stop();
    assert_eq!((server.inner().stats().answered, connections), (4, 2));
}

#[test]
#[ignore = "needs caddy"]
fn our_client_asks_caddy_within_tls() {
    need("caddy");
    let authority = Authority::generate().unwrap();
    let identity = Identity::generate(&authority).unwrap();
    let texts = [
        identity.certificates_to_pem().unwrap(),
        identity.private_key_to_pem().unwrap(),
    ];
    let caddy = Caddy::start(Some(texts));
    let requests: [Asked<'_>; 3] = [
        (Method::Post, "/test", &[7; 128]),
        (Method::Get, "/files/large", b""),
        (Method::Post, "/test", &[7; 100_000]),
    ];
    for versions in [tls::Versions::Tls13, tls::Versions::Tls12] {
        let trust = tls::Trust::Authorities(vec![authority.certificate().to_vec()]);
        let options = tls::ClientOptions {
            versions,
            start: Start::Resumed,
            ..tls::ClientOptions::new(epoch(), trust, "server")
        };
        // One connection per message: the first starts cold, the others resume.
        let client = Client::new(ClientConfig {
            connection_close: true,
            ..ClientConfig::default()
        });
        let client = tls::Client::new(tls::ClientConfig::new(options).unwrap(), client);
        let starts = Arc::new(Mutex::new(Vec::new()));
        let answers = ask(caddy.address, client, &requests, |event| match event {
            Event::Inner(event) => Some(event),
            Event::Established { start, .. } => {
                starts.lock().unwrap().push(start);
                None
            }
            other => panic!("{other:?}"),
        });
        let codes: Vec<u16> = answers.iter().map(|(status, _)| status.code()).collect();
        assert_eq!(codes, [204, 200, 204]);
        assert_eq!(answers[1].1, 1_000_000);
        let starts = starts.lock().unwrap();
        assert_eq!(
            starts[..],
            [Start::Cold, Start::Resumed, Start::Resumed],
            "{versions:?}"
        );
    }
}
