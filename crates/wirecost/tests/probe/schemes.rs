//! Every scheme once, with the round trips of its standards.

use serde_json::Value;
use tempfile::TempDir;

use crate::certificates::Authority;
use crate::common::need_root;
use crate::servers::{caddy, libcoap, open_mosquitto, serve};
use crate::{both, report, step};

/// Round trips by step, where they are known.
fn trips(report: &Value) -> Vec<(String, Option<f64>)> {
    let steps = report["steps"].as_array().expect("steps");
    let of = |step: &Value| {
        let name = step["step"].as_str().expect("a name").to_owned();
        (name, step["round_trips"].as_f64())
    };
    let all = steps.iter().map(of);
    all.filter(|(name, _)| name != "dns" && name != "close").collect()
}

fn expect(report: &Value, expected: &[(&str, f64)]) {
    let expected: Vec<(String, Option<f64>)> = expected
        .iter()
        .map(|(name, trips)| ((*name).to_owned(), Some(*trips)))
        .collect();
    assert_eq!(trips(report), expected);
    assert_eq!(report["captured"], true);
    assert_eq!(report["interface"], "lo");
    assert_eq!(report["failure"], Value::Null);
    assert_eq!(both(&report["total"], "payload"), 50);
}

#[test]
#[ignore = "needs root and mosquitto"]
fn mqtt_opens_and_publishes() {
    need_root();
    let folder = TempDir::new().expect("a folder");
    let server = open_mosquitto(None);
    let report = report(
        folder.path(),
        &format!("mqtt://localhost:{}/a/b --size 50B", server.port),
    );
    expect(&report, &[("connect", 1.0), ("open", 1.0), ("message", 1.0)]);
    assert_eq!(report["steps"][0]["step"], "dns");
    // CONNECT of MQTT 5 with the client id wc-1, and the CONNACK: 19 B and what Mosquitto says of itself.
    assert_eq!(step(&report, "open")["up"]["application"], 19);
    // PUBLISH: 2 B fixed header, 2 + 3 B topic, 2 B packet id, 1 B of properties.
    assert_eq!(step(&report, "message")["up"]["application"], 10);
}

#[test]
#[ignore = "needs root, mosquitto and openssl"]
fn mqtts_is_one_round_trip_longer_and_resumes() {
    need_root();
    let folder = TempDir::new().expect("a folder");
    let files = Authority::new(folder.path()).good();
    let server = open_mosquitto(Some(&files));
    let arguments = format!("mqtts://127.0.0.1:{}/a --size 50B --cacert ca.pem", server.port);
    let cold = report(folder.path(), &arguments);
    let steps = [
        ("connect", 1.0),
        ("security", 1.0),
        ("open", 1.0),
        ("message", 1.0),
    ];
    expect(&cold, &steps);
    let facts = cold["facts"].to_string();
    assert!(
        facts.contains("TLS 1.3") && facts.contains("\\\"good\\\", issued by \\\"lab-CA\\\""),
        "{facts}"
    );
    assert!(facts.contains("session new"), "{facts}");
    let line = |report: &Value| {
        let facts = report["facts"].as_array().expect("facts");
        let of_resumption = facts.iter().find(|fact| fact["about"] == "resumption");
        of_resumption.map(|fact| fact["text"].to_string())
    };
    let said = line(&cold).expect("a line about resumption");
    assert!(
        said.contains("works, ") && said.contains(" B less and 0 round trips less"),
        "{said}"
    );
    assert!(said.contains("early data does not work"), "{said}");
    assert_eq!(
        line(&report(folder.path(), &format!("{arguments} --no-resumption"))),
        None
    );
    let older = report(folder.path(), &format!("{arguments} --tls-version 1.2"));
    assert_eq!(step(&older, "security")["round_trips"], 2.0);
    let resumed = report(folder.path(), &format!("{arguments} --start resumed"));
    assert_eq!(resumed["steps"][0]["step"], "ticket");
    assert!(resumed["facts"].to_string().contains("resumed"));
    let security = |report: &Value| both(step(report, "security"), "security");
    assert!(security(&resumed) < security(&cold), "a certificate less");
}

#[test]
#[ignore = "needs root and libcoap3-bin"]
fn coap_is_a_message_and_nothing_else() {
    need_root();
    let folder = TempDir::new().expect("a folder");
    let server = libcoap("secret");
    let plain = report(
        folder.path(),
        &format!("coap://127.0.0.1:{}/a --size 50B", server.port),
    );
    expect(&plain, &[("message", 1.0)]);
    assert!(
        plain["facts"].to_string().contains("2.01 Created"),
        "{}",
        plain["facts"]
    );
    let secure = format!(
        "coaps://127.0.0.1:{}/a --size 50B --psk me:secret",
        server.port + 1
    );
    let secure = report(folder.path(), &secure);
    // HelloVerifyRequest is a round trip of its own (RFC 6347, section 4.2.1).
    expect(&secure, &[("security", 3.0), ("message", 1.0)]);
}

#[test]
#[ignore = "needs root"]
fn amqp_opens_and_transfers() {
    need_root();
    let folder = TempDir::new().expect("a folder");
    let server = serve("amqp");
    let plain = report(
        folder.path(),
        &format!("amqp://127.0.0.1:{}/queue --size 50B", server.port),
    );
    // SASL header, sasl-init, and the AMQP frames: three round trips.
    expect(&plain, &[("connect", 1.0), ("open", 3.0), ("message", 1.0)]);
    let ca = folder.path().join("ca.pem");
    let server = serve(&format!("amqp --tls --ca-out {}", ca.display()));
    let arguments = format!(
        "amqps://127.0.0.1:{}/queue --size 50B --cacert ca.pem",
        server.port
    );
    let secure = report(folder.path(), &arguments);
    expect(
        &secure,
        &[
            ("connect", 1.0),
            ("security", 1.0),
            ("open", 3.0),
            ("message", 1.0),
        ],
    );
}

#[test]
#[ignore = "needs root, caddy and openssl"]
fn http_posts_over_tcp_tls_and_quic() {
    need_root();
    let folder = TempDir::new().expect("a folder");
    let server = caddy(None);
    let plain = report(
        folder.path(),
        &format!("http://127.0.0.1:{}/a --size 50B", server.port),
    );
    expect(&plain, &[("connect", 1.0), ("message", 1.0)]);
    let files = Authority::new(folder.path()).good();
    let server = caddy(Some(&files));
    let secure = format!(
        "https://localhost:{}/a --size 50B --cacert ca.pem -4",
        server.port
    );
    let secure = report(folder.path(), &secure);
    expect(&secure, &[("connect", 1.0), ("security", 1.0), ("message", 1.0)]);
    assert!(secure["facts"].to_string().contains("ALPN http/1.1"));
    let quic = format!("h3://localhost:{}/a --size 50B --cacert ca.pem -4", server.port);
    let quic = report(folder.path(), &quic);
    // A ticket may come before the request has left: without a distance such packets look like answers.
    let message = step(&quic, "message")["round_trips"].as_f64();
    expect(
        &quic,
        &[("security", 1.0), ("message", message.expect("a number"))],
    );
    let server = caddy(None);
    let arguments = format!("http://127.0.0.1:{}/ --get", server.port);
    let fetched = report(folder.path(), &arguments);
    assert_eq!(both(&fetched["total"], "payload"), 0);
}

#[test]
#[ignore = "needs root"]
fn early_data_spares_a_round_trip() {
    need_root();
    let folder = TempDir::new().expect("a folder");
    let ca = folder.path().join("ca.pem");
    for (protocol, scheme) in [("http1 --tls", "https"), ("http3", "h3")] {
        let server = serve(&format!("{protocol} --accept-0rtt --ca-out {}", ca.display()));
        let arguments = format!(
            "{scheme}://127.0.0.1:{}/test --size 50B --cacert ca.pem --start 0rtt",
            server.port
        );
        let report = report(folder.path(), &arguments);
        assert_eq!(step(&report, "security"), &Value::Null, "{scheme}");
        assert_eq!(step(&report, "message")["round_trips"], 1.0, "{scheme}");
        assert!(report["facts"].to_string().contains("0rtt"), "{scheme}");
    }
}
