//! Comparisons with other certificates and groups, in virtual time.

mod common;

use wirecost_results::Summary;
use wirecost_results::summary::Cell;

use common::{open_folder, said, wirecost};

/// Why each cell is not run, and the bytes of its connect.
fn connects(arguments: &str) -> Vec<(String, u64)> {
    let cells = cells(arguments).into_iter();
    cells
        .map(|cell| {
            let connect = cell.connect.as_ref();
            let bytes = connect.map_or(0, |connect| connect.up.wire.min + connect.down.wire.min);
            (cell.not_run.unwrap_or_default(), bytes)
        })
        .collect()
}

fn cells(arguments: &str) -> Vec<Cell> {
    let home = open_folder();
    let line = format!("compare {arguments} -n 2 --engine sim -q -o run");
    let out = said(wirecost(home.path()).args(line.split_whitespace()));
    assert_eq!(out.code, Some(0), "{line}: {}", out.stderr);
    let text = std::fs::read_to_string(home.path().join("run/summary.json")).expect("summary.json");
    let summary: Summary = serde_json::from_str(&text).expect("a summary");
    summary.cells
}

/// What a run says that cannot begin, and its exit code.
fn refused(arguments: &str) -> (Option<i32>, String) {
    let home = open_folder();
    let line = format!("compare {arguments} -n 2 -q -o run");
    let out = said(wirecost(home.path()).args(line.split_whitespace()));
    assert!(!home.path().join("run").exists(), "{line}: nothing half written");
    (out.code, out.stderr)
}

#[test]
fn a_handshake_as_public_servers_have_it_is_thousands_of_bytes_larger() {
    let plain = connects("mqtt-qos1+tls1.3,http3");
    let public =
        connects("mqtt-qos1+tls1.3,http3 --certificate rsa2048 --chain intermediate --group x25519mlkem768");
    for ((_, plain), (reason, public)) in plain.iter().zip(&public) {
        assert_eq!(reason, "");
        assert!(public - plain > 3_000, "{plain} B, then {public} B");
    }
}

#[test]
fn a_first_flight_that_does_not_fit_costs_a_round_trip() {
    let round_trips = |arguments: &str| {
        let cells = cells(&format!("http3,mqtt-qos1+tls1.3 --rtt 100ms {arguments}"));
        let of = |cell: &Cell| cell.connect.as_ref().and_then(|connect| connect.round_trips);
        cells.iter().map(of).collect::<Vec<_>>()
    };
    let within = round_trips("--certificate rsa2048 --chain cross-signed");
    assert_eq!(within, [Some(1.0), Some(3.0)]);
    // RFC 9000 section 8.1: a server sends three times what it has received until it has validated the address, 3.6 kB here.
    let beyond_quic = round_trips("--certificate rsa3072 --chain cross-signed");
    assert_eq!(beyond_quic, [Some(2.0), Some(3.0)]);
    // A ClientHello with ML-KEM fills two datagrams, so that the server may send twice as much.
    let two_datagrams = round_trips("--certificate rsa3072 --chain cross-signed --group x25519mlkem768");
    assert_eq!(two_datagrams, [Some(1.0), Some(3.0)]);
    // RFC 6928: TCP begins with ten segments.
    let beyond_tcp = round_trips("--certificate mldsa65 --chain intermediate");
    assert_eq!(beyond_tcp, [Some(2.0), Some(4.0)]);
}

#[test]
fn the_default_is_named_by_its_names() {
    let named = "--certificate p256 --chain leaf --group x25519 --server-group x25519";
    let stacks = "mqtt-qos1+tls1.3,mqtt-qos1+tls1.2";
    assert_eq!(connects(stacks), connects(&format!("{stacks} {named}")));
}

#[test]
fn a_cell_that_no_version_defines_is_not_run_with_its_reason() {
    let cells =
        connects("mqtt-qos1+tls1.3,mqtt-qos1+tls1.2,coap-con+dtls1.3,mqtt-qos1 --certificate mldsa44");
    let reasons: Vec<&str> = cells.iter().map(|(reason, _)| reason.as_str()).collect();
    assert_eq!(reasons[0], "");
    assert!(reasons[1].contains("TLS 1.2 has no ML-DSA"), "{reasons:?}");
    assert!(reasons[2].contains("one P-256 leaf and X25519"), "{reasons:?}");
    assert_eq!(reasons[3], "");
}

#[test]
fn a_wrong_handshake_is_refused_in_one_sentence() {
    for (arguments, why) in [
        ("--certificate rsa1024", "rsa1024"),
        ("--chain root", "unknown profile of certificates \"root\""),
        ("--chain ./nowhere.pem", "cannot use ./nowhere.pem"),
        (
            "--chain p256:40000+30000",
            "more than the 65471 B that a handshake can carry",
        ),
        (
            "--chain aws --certificate p384",
            "the chain aws has a leaf with rsa2048",
        ),
        ("--group x448", "unknown group \"x448\""),
        ("--group p256,p256", "p256 is named twice"),
        (
            "--group p256 --server-group x25519",
            "no common group: devices have p256, the server x25519",
        ),
        (
            "--target mosquitto --certificate p384",
            "it works with the built-in servers",
        ),
    ] {
        let (code, said) = refused(&format!("mqtt-qos1+tls1.3 {arguments}"));
        assert_eq!(code, Some(2), "{arguments}: {said}");
        assert!(said.contains(why), "{arguments}: {said}");
    }
}

/// Files that hold no chain, another key, or a key where a certificate belongs.
#[test]
fn certificates_of_no_use_are_refused_in_one_sentence_without_their_secrets() {
    use wirecost_security::certificate::{Authority, Identity};
    let home = open_folder();
    let write = |name: &str, text: &str| std::fs::write(home.path().join(name), text).expect("a file");
    let [one, other] = [(); 2].map(|()| {
        let authority = Authority::generate().expect("an authority");
        let identity = Identity::generate(&authority).expect("an identity");
        let texts = (identity.certificates_to_pem(), identity.private_key_to_pem());
        (texts.0.expect("a text"), texts.1.expect("a text"))
    });
    write("one.pem", &one.0);
    write("one.key", &one.1);
    write("other.key", &other.1);
    write("mixed.pem", &format!("{}{}", one.0, other.0));
    let secrets: Vec<&str> = [&one.1, &other.1]
        .into_iter()
        .filter_map(|key| key.lines().nth(1))
        .collect();
    let compare = "compare mqtt-qos1+tls1.3 --engine sim -n 1 -q -o run --chain";
    let probe = "probe mqtts://127.0.0.1:9 -4 --cacert";
    let serve = "serve mqtt --tls --listen 127.0.0.1:0";
    let other_key = "the private key is not that of the certificate";
    for (line, why) in [
        (format!("{compare} ./mixed.pem"), "cannot use ./mixed.pem: "),
        (
            format!("{compare} ./one.key"),
            "it has a private key and no certificate",
        ),
        (format!("{probe} ./one.key"), "no certificate in the PEM text"),
        (
            format!("{probe} ./one.pem --cert ./one.key --key ./one.key"),
            "no certificate in the PEM text",
        ),
        (
            format!("{probe} ./one.pem --cert ./one.pem --key ./other.key"),
            other_key,
        ),
        (format!("{serve} --cert ./one.pem --key ./other.key"), other_key),
        (
            format!("{serve} --cert ./mixed.pem --key ./one.key"),
            "its certificates do not lead from the first to the last",
        ),
        (
            format!("{serve} --client-ca ./one.key"),
            "no certificate in the PEM text",
        ),
    ] {
        let out = said(wirecost(home.path()).args(line.split_whitespace()));
        assert_eq!(out.code, Some(2), "{line}: {}", out.stderr);
        assert!(out.stderr.contains(why), "{line}: {}", out.stderr);
        assert!(
            out.stderr.lines().count() <= 2,
            "a sentence and a hint: {}",
            out.stderr
        );
        assert!(
            !secrets.iter().any(|secret| out.stderr.contains(secret)),
            "{line} shows a key"
        );
        assert!(!home.path().join("run").exists(), "{line}: nothing half written");
    }
}

#[test]
fn a_profile_costs_the_bytes_of_its_certificates() {
    let of = |chain: &str| connects(&format!("mqtt-qos1+tls1.3 --mtu 9000B --chain {chain}"))[0].1;
    // RFC 8446 section 4.4.2: a certificate has 5 B before it.
    let more = of("p256:1000+699+5000") - of("letsencrypt-ecdsa");
    assert!(
        (5_005..5_005 + 3 * 60).contains(&more),
        "{more} B: the certificate, and headers of its packets"
    );
    let named = cells("mqtt-qos1+tls1.3 --chain aws");
    let sized = cells("mqtt-qos1+tls1.3 --chain rsa2048:1500+1122+1174+1145");
    assert_eq!(named[0].connect, sized[0].connect);
}

/// What a command prints that ends well.
fn printed(home: &std::path::Path, line: &str) -> String {
    let out = said(wirecost(home).args(line.split_whitespace()));
    assert_eq!(out.code, Some(0), "{line}: {}", out.stderr);
    out.stdout
}

/// The bytes that the server of a simulated load with two connections sends.
fn sent_in_load(home: &std::path::Path, more: &str) -> u64 {
    let line = format!(
        "load mqtt-qos1+tls1.3 --engine sim --connection per-message -c 1 -r 1/s -d 2s -q --out run{} --json - {more}",
        more.len()
    );
    let summary: serde_json::Value = serde_json::from_str(&printed(home, &line)).expect("JSON");
    let phases = summary["loads"][0]["phases"].as_array().expect("phases");
    let down = phases
        .iter()
        .filter_map(|phase| phase["socket_bytes_down"].as_u64());
    down.sum()
}

#[test]
fn a_load_has_the_handshakes_of_a_comparison() {
    let home = open_folder();
    let plain = sent_in_load(home.path(), "");
    let public = sent_in_load(home.path(), "--chain aws --group x25519mlkem768");
    assert!(public > plain + 5_000, "{plain} B, then {public} B");
    let line =
        "load mqtt-qos1+tls1.3 --engine sim -c 1 -r 1/s -d 1s -q --out no --group p256 --server-group x25519";
    let out = said(wirecost(home.path()).args(line.split_whitespace()));
    assert_eq!(out.code, Some(2), "{}", out.stderr);
    assert!(out.stderr.contains("no common group"), "{}", out.stderr);
}

/// SHA-384 makes each Finished of TLS 1.3 16 B longer; ChaCha20 has no nonce in a record of TLS 1.2 (RFC 7905, section 2).
#[test]
fn a_cipher_changes_what_its_hash_and_its_nonce_say() {
    let run = |cipher: &str| -> Vec<[u64; 2]> {
        let cells = cells(&format!(
            "mqtt-qos1+tls1.3,mqtt-qos1+tls1.2,http3 --cipher {cipher}"
        ))
        .into_iter();
        let bytes = |cell: Cell| {
            let up = |section: Option<wirecost_results::Section>| section.expect("a section").up.security.min;
            [up(cell.connect), up(cell.message)]
        };
        cells.map(bytes).collect()
    };
    let [aes128, aes256, chacha] = ["aes128-gcm", "aes256-gcm", "chacha20-poly1305"].map(run);
    // In QUIC a tag belongs to the transport.
    let more: Vec<[u64; 2]> = aes256
        .iter()
        .zip(&aes128)
        .map(|(one, other)| [one[0] - other[0], one[1] - other[1]])
        .collect();
    assert_eq!(more, [[16, 0], [0, 0], [16, 0]]);
    let less: Vec<u64> = aes128
        .iter()
        .zip(&chacha)
        .map(|(one, other)| one[1] - other[1])
        .collect();
    assert_eq!(less, [0, 8, 0]);
    let home = open_folder();
    for (line, expected) in [
        (
            "compare mqtt-qos1+tls1.3 --cipher aes128-ccm8",
            "no library of TLS here has CCM",
        ),
        (
            "compare coap-con+dtls1.3 --cipher aes256-gcm --engine sim",
            "X25519 with AES-128-GCM",
        ),
        (
            "compare coap-con --cipher aes256-gcm --engine sim",
            "it would change nothing",
        ),
        (
            "choose coap-con+oscore --every 1h --cipher aes256-gcm",
            "it would change nothing",
        ),
    ] {
        let out = said(wirecost(home.path()).args(line.split_whitespace()));
        assert_eq!(out.code, Some(2), "{line}: {}", out.stderr);
        assert!(out.stderr.contains(expected), "{line}: {}", out.stderr);
    }
}

/// A chain for TLS beside DTLS, which has its leaf and the bytes of before.
#[test]
fn dtls_has_a_leaf_beside_a_chain_where_it_is_asked_for() {
    let run = |more: &str| connects(&format!("coap-con+dtls1.3,coap-tcp+tls1.3 {more}"));
    let leaf = run("");
    let chain = run("--chain aws");
    let both = run("--chain aws --dtls-leaf");
    assert!(chain[0].0.contains("one P-256 leaf"), "{chain:?}");
    assert_eq!((&both[0], &both[1]), (&leaf[0], &chain[1]));
    assert!(both[1].1 > leaf[1].1 + 4_000, "{both:?} {leaf:?}");
}

#[test]
fn choose_says_what_post_quantum_security_adds() {
    let home = open_folder();
    let line = "choose mqtt-qos1+tls1.3 coap-con+oscore coap-con+dtls1.3 coap-con+dtls1.2-psk coap-con+dtls1.2-cid --every 15min --rtt 50ms --start cold --keep-alive 0s -n 1 \
                --security 2030 -q --out run --json -";
    let json: serde_json::Value = serde_json::from_str(&printed(home.path(), line)).expect("JSON");
    let added = json["post_quantum_adds"].as_array().expect("a list");
    let of = |stack: &str, way: &str| {
        let found = added.iter().find(|one| {
            one["stack"] == stack && one["way"].as_str().is_some_and(|text| text.starts_with(way))
        });
        found.unwrap_or_else(|| panic!("{stack} {way}: {added:?}"))
    };
    let each = of("mqtt-qos1+tls1.3", "a connection each")["bytes_per_reading"]
        .as_f64()
        .expect("bytes");
    assert!(each > 10_000.0, "{each}");
    let kept = of("mqtt-qos1+tls1.3", "persistent")["bytes_per_reading"]
        .as_f64()
        .expect("bytes");
    assert!(kept > 50.0 && kept < each / 50.0, "{kept}");
    let dtls = of("coap-con+dtls1.3", "")["not_known"]
        .as_str()
        .expect("a reason");
    assert!(dtls.contains("one P-256 leaf and X25519"), "{dtls}");
    // A pre-shared key is as safe as before, and the server of DTLS has no ML-DSA.
    for stack in ["coap-con+dtls1.2-psk", "coap-con+dtls1.2-cid"] {
        let key = of(stack, "persistent")["bytes_per_reading"]
            .as_f64()
            .expect("bytes");
        assert!(key.abs() < 0.5, "{stack}: {key}");
    }
    assert!(
        added.iter().all(|one| one["stack"] != "coap-con+oscore"),
        "it has no handshake"
    );
}

/// A server of this program, which ends with this value.
struct Server(std::process::Child, u16);

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn serve(home: &std::path::Path, more: &str) -> Server {
    let free = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    let port = free.local_addr().expect("its address").port();
    drop(free);
    let line = format!("serve mqtt --tls --listen 127.0.0.1:{port} --ca-out ca.pem -q {more}");
    let mut command = wirecost(home);
    command.args(line.split_whitespace());
    command
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::null());
    let server = Server(command.spawn().expect("a server"), port);
    common::eventually("the server listens", || {
        std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
    });
    server
}

fn fact(report: &serde_json::Value, about: &str) -> String {
    let facts = report["facts"].as_array().expect("facts");
    let found = facts.iter().find(|fact| fact["about"] == about);
    found.map_or_else(String::new, |fact| {
        fact["text"].as_str().expect("a text").to_owned()
    })
}

#[test]
fn probe_names_what_a_server_chose_and_saves_its_chain() {
    let home = open_folder();
    let server = serve(home.path(), "--chain letsencrypt-rsa --group p256");
    let url = format!("mqtts://localhost:{}/test", server.1);
    let line = format!("probe {url} --cacert ca.pem -4 --json - --group x25519,p256 --save-chain chain.pem");
    let report: serde_json::Value = serde_json::from_str(&printed(home.path(), &line)).expect("JSON");
    let tls = fact(&report, "TLS");
    assert!(tls.contains("secp256r1 after a HelloRetryRequest"), "{tls}");
    let chain = fact(&report, "chain");
    assert!(
        chain.starts_with("2590 B of certificates: ") && chain.contains("1300 B"),
        "{chain}"
    );
    assert_eq!(fact(&report, "not needed"), "");
    // The chain of the file costs what the profile costs.
    let run = printed(
        home.path(),
        "compare mqtt-qos1+tls1.3 --engine sim -n 1 -q --out run --chain chain.pem --json -",
    );
    assert!(run.contains("rsa2048:1300+1290"), "the scenario has the sizes");
    let line = format!(
        "probe {url} --cacert ca.pem -4 --json - --no-resumption --group p256 --cipher chacha20-poly1305"
    );
    let report: serde_json::Value = serde_json::from_str(&printed(home.path(), &line)).expect("JSON");
    let tls = fact(&report, "TLS");
    assert!(tls.contains("TLS_CHACHA20_POLY1305_SHA256"), "{tls}");
    let line = format!("probe {url} --cacert ca.pem -4 --group x25519 --no-resumption");
    let out = said(wirecost(home.path()).args(line.split_whitespace()));
    assert_eq!(out.code, Some(12), "{}", out.stderr);
    assert!(!home.path().join("no.pem").exists());
    drop(server);
    let server = serve(home.path(), "--cipher aes256-gcm");
    let url = format!("mqtts://localhost:{}/test", server.1);
    for (version, suite) in [
        ("1.3", "TLS_AES_256_GCM_SHA384"),
        ("1.2", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"),
    ] {
        let line = format!("probe {url} --cacert ca.pem -4 --json - --no-resumption --tls-version {version}");
        let report: serde_json::Value = serde_json::from_str(&printed(home.path(), &line)).expect("JSON");
        let tls = fact(&report, "TLS");
        assert!(tls.contains(suite), "{tls}");
    }
    let line = format!("probe {url} --cacert ca.pem -4 --cipher aes128-gcm --no-resumption");
    let out = said(wirecost(home.path()).args(line.split_whitespace()));
    assert_eq!(
        (out.code, out.stderr.lines().count()),
        (Some(12), 2),
        "{}",
        out.stderr
    );
}

/// A running server that takes one cipher: a load with it is answered, and a load with another is not.
#[test]
fn the_cipher_of_a_load_is_that_of_its_connections_to_a_running_server() {
    let home = open_folder();
    let server = serve(home.path(), "--cipher aes256-gcm");
    let load = |cipher: &str| {
        let line = format!(
            "load mqtts://localhost:{}/test --cacert ca.pem -c 1 -r 5/s -d 1s -q --out {cipher} --cipher {cipher}",
            server.1
        );
        said(wirecost(home.path()).args(line.split_whitespace()))
    };
    let same = load("aes256-gcm");
    assert_eq!(same.code, Some(0), "{}", same.stderr);
    let other = load("aes128-gcm");
    assert_eq!(other.code, Some(12), "{}", other.stderr);
    assert!(other.stderr.contains("handshake_failure"), "{}", other.stderr);
}
