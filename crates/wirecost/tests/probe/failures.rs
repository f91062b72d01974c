//! Each way to fail: the step, the cause, the way out, and the exit code.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::process::Command;

use tempfile::TempDir;

use crate::certificates::Authority;
use crate::common::{as_nobody, need_program, need_root, open_folder, said, wirecost};
use crate::peers::own_port;
use crate::probe;
use crate::servers::{caddy, libcoap, mosquitto, open_mosquitto, serve};

/// Runs a probe that fails with a code; every text must be in what it says.
fn fails(folder: &TempDir, arguments: &str, code: i32, texts: &[&str]) {
    let said = probe(folder.path(), arguments);
    assert_eq!(said.code, Some(code), "probe {arguments}\n{}", said.stderr);
    for text in texts {
        assert!(
            said.stderr.contains(text),
            "probe {arguments}: no {text:?} in\n{}",
            said.stderr
        );
    }
}

#[test]
fn a_url_that_is_none_is_a_usage_error() {
    let folder = TempDir::new().expect("a folder");
    fails(
        &folder,
        "mqt://host",
        2,
        &["unknown scheme \"mqt\" (did you mean mqtt?)"],
    );
    fails(&folder, "mqtt://host --psk a:b", 2, &["--psk goes with coaps"]);
    fails(
        &folder,
        "coaps://host --start resumed --insecure",
        2,
        &["no session resumption"],
    );
    fails(
        &folder,
        "mqtts://host --cacert nonesuch.pem",
        2,
        &["cannot read nonesuch.pem"],
    );
    fails(&folder, "mqtt://host/a+b/#", 2, &["wildcard"]);
}

#[test]
fn a_name_without_address_fails_in_the_first_step() {
    let folder = TempDir::new().expect("a folder");
    // RFC 6761, section 6.4.
    fails(
        &folder,
        "mqtt://host.invalid",
        11,
        &["dns failed after", "\"host.invalid\"", "hint: check"],
    );
    fails(&folder, "mqtt://127.0.0.1 -6", 11, &["no address of IPv6"]);
}

#[test]
fn a_closed_port_is_refused() {
    let folder = TempDir::new().expect("a folder");
    let port = own_port();
    let texts = [
        "connect failed after",
        "refused the connection: nothing listens there",
        "wirecost serve mqtt",
    ];
    fails(&folder, &format!("mqtt://127.0.0.1:{port}"), 11, &texts);
    let texts = ["message failed after", "/udp: ICMP says that the port is closed"];
    fails(&folder, &format!("coap://127.0.0.1:{port}"), 11, &texts);
    let texts = ["security failed after", "/udp: ICMP says that the port is closed"];
    fails(&folder, &format!("h3://127.0.0.1:{port} --insecure"), 11, &texts);
}

#[test]
fn silence_names_the_step_and_the_awaited_answer() {
    let folder = TempDir::new().expect("a folder");
    let silent = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket");
    let port = silent.local_addr().expect("an address").port();
    let mqtt = format!("mqtt://127.0.0.1:{port} --timeout 300ms");
    fails(
        &folder,
        &mqtt,
        11,
        &["open failed after", "waited 0.3 s for CONNACK"],
    );
    let mqtts = format!("mqtts://127.0.0.1:{port} --timeout 300ms --insecure");
    fails(
        &folder,
        &mqtts,
        11,
        &["security failed after", "for the handshake to be complete"],
    );
    let http = format!("http://127.0.0.1:{port} --timeout 300ms");
    fails(&folder, &http, 11, &["message failed after", "for the response"]);
    let silent = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket");
    let port = silent.local_addr().expect("an address").port();
    // RFC 7252, section 4.2: the first retransmission follows after 2 to 3 s.
    let coap = format!("coap://127.0.0.1:{port} --timeout 4s");
    let texts = [
        "no answer to a CoAP request and 1 retransmission within 4 s. ICMP: none",
        "UDP gives no 'refused'",
    ];
    fails(&folder, &coap, 11, &texts);
}

#[test]
#[ignore = "needs caddy, mosquitto and openssl"]
fn tls_on_a_plain_port_and_the_other_way_round() {
    let folder = TempDir::new().expect("a folder");
    let files = Authority::new(folder.path()).good();
    let secure = open_mosquitto(Some(&files));
    let port = secure.port;
    let meant = format!("did you mean mqtts://127.0.0.1:{port} ?");
    fails(
        &folder,
        &format!("mqtt://127.0.0.1:{port}"),
        12,
        &["open failed after", &meant],
    );
    let plain = open_mosquitto(None);
    let meant = format!("did you mean mqtt://127.0.0.1:{} ?", plain.port);
    let arguments = format!("mqtts://127.0.0.1:{} --insecure", plain.port);
    fails(&folder, &arguments, 12, &["security failed after", &meant]);
    let web = caddy(None);
    let meant = format!("did you mean http://127.0.0.1:{} ?", web.port);
    let arguments = format!("https://127.0.0.1:{} --insecure", web.port);
    fails(
        &folder,
        &arguments,
        12,
        &["answered a TLS ClientHello with an HTTP answer", &meant],
    );
}

#[test]
fn another_protocol_is_named() {
    let folder = TempDir::new().expect("a folder");
    let answers: [(&[u8], &str, &str); 4] = [
        (
            b"HTTP/1.1 400 Bad Request\r\n\r\n",
            "mqtt",
            "with an HTTP answer (\"HTTP/1.1 400 Bad Request\")",
        ),
        (
            b"HTTP/1.1 400 Bad Request\r\n\r\n",
            "amqp",
            "did you mean http://127.0.0.1:",
        ),
        (
            &[0x20, 3, 0, 0x84, 0],
            "http",
            "answered an HTTP request with an MQTT CONNACK",
        ),
        (b"AMQP\x03\x01\x00\x00", "mqtt", "did you mean amqp://127.0.0.1:"),
    ];
    for (answer, scheme, text) in answers {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket");
        let port = listener.local_addr().expect("an address").port();
        let answering = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a connection");
            let read = stream.read(&mut [0; 512]).expect("a request");
            stream.write_all(answer).expect("answered");
            read
        });
        fails(&folder, &format!("{scheme}://127.0.0.1:{port}"), 12, &[text]);
        assert!(answering.join().is_ok_and(|read| read > 0));
    }
}

#[test]
#[ignore = "needs mosquitto and openssl"]
fn three_things_can_be_wrong_with_a_certificate() {
    let folder = TempDir::new().expect("a folder");
    let authority = Authority::new(folder.path());
    let cases = [
        (
            authority.good(),
            "",
            [
                "is not trusted: issued by \"lab-CA\"",
                "--cacert FILE.pem to trust its issuer",
            ],
        ),
        (
            authority.server("old", "IP:127.0.0.1", 2021),
            " --cacert ca.pem",
            [
                "is out of date: it expired on 2021-01-01",
                "renew it on the server",
            ],
        ),
        (
            authority.server("other", "DNS:elsewhere.example", 2049),
            " --cacert ca.pem",
            [
                "has another name: it is not for 127.0.0.1, but for elsewhere.example",
                "use a name of the certificate",
            ],
        ),
    ];
    for (files, trust, texts) in cases {
        let server = open_mosquitto(Some(&files));
        let arguments = format!("mqtts://127.0.0.1:{}{trust}", server.port);
        fails(
            &folder,
            &arguments,
            12,
            &["security failed after", "--insecure", texts[0], texts[1]],
        );
        let anyway = probe(
            folder.path(),
            &format!("mqtts://127.0.0.1:{} --insecure", server.port),
        );
        assert_eq!(anyway.code, Some(0), "{}", anyway.stderr);
        assert!(
            anyway.stdout.contains("certificate not checked (--insecure)"),
            "{}",
            anyway.stdout
        );
    }
}

/// As `openssl req -x509` makes one that signs itself: an authority's. Whoever names this very certificate trusts it.
#[test]
#[ignore = "needs mosquitto and openssl"]
fn a_self_signed_authority_is_accepted_only_by_its_name() {
    let folder = TempDir::new().expect("a folder");
    let _ = Authority::new(folder.path());
    let files = ["ca.pem", "ca.key"].map(|name| folder.path().join(name));
    let server = open_mosquitto(Some(&files));
    let url = format!("mqtts://127.0.0.1:{}", server.port);
    let texts = [
        "certificate for 127.0.0.1 is not accepted: it belongs to an authority (CA:TRUE), not to a server",
        "basicConstraints=critical,CA:FALSE",
        "--cacert FILE.pem",
    ];
    fails(&folder, &url, 12, &texts);
    let said = probe(folder.path(), &format!("{url} --cacert ca.pem"));
    assert_eq!(said.code, Some(0), "{}", said.stderr);
}

#[test]
#[ignore = "needs mosquitto and openssl"]
fn a_missing_intermediate_certificate_is_named() {
    let (folder, middle) = (
        TempDir::new().expect("a folder"),
        TempDir::new().expect("a folder"),
    );
    let authority = Authority::new(folder.path());
    let [certificate, key] = authority.intermediate(middle.path()).good();
    let alone = open_mosquitto(Some(&[certificate.clone(), key.clone()]));
    let url = format!("mqtts://localhost:{} -4 --cacert ca.pem", alone.port);
    let texts = [
        "is not trusted: issued by \"lab-middle\", not the authority trusted here, and the server sent no certificate of its issuer",
        "the server has to send the whole chain",
    ];
    fails(&folder, &url, 12, &texts);
    let whole = middle.path().join("chain.pem");
    let parts =
        [certificate, middle.path().join("ca.pem")].map(|part| std::fs::read(part).expect("a certificate"));
    std::fs::write(&whole, parts.concat()).expect("a chain");
    let server = open_mosquitto(Some(&[whole, key]));
    let said = probe(
        folder.path(),
        &format!("mqtts://localhost:{} -4 --cacert ca.pem", server.port),
    );
    assert_eq!(said.code, Some(0), "the hint can be followed: {}", said.stderr);
}

#[test]
#[ignore = "needs caddy, libcoap3-bin and mosquitto"]
fn a_server_may_require_client_credentials() {
    let folder = TempDir::new().expect("a folder");
    let closed = mosquitto(None, "allow_anonymous false\n");
    let mqtt = format!("mqtt://127.0.0.1:{}", closed.port);
    let texts = [
        "open failed after",
        "CONNACK 0x87 Not authorized. No user, client id \"",
        "give --user",
    ];
    fails(&folder, &mqtt, 12, &texts);
    let users = serve("amqp --user me:secret");
    let amqp = format!("amqp://me:wrong@127.0.0.1:{}", users.port);
    fails(
        &folder,
        &amqp,
        12,
        &[
            "open failed after",
            "SASL outcome 1. User \"me\"",
            "check user and password",
        ],
    );
    let web = caddy(None);
    let http = format!("http://127.0.0.1:{}/secret", web.port);
    fails(
        &folder,
        &http,
        12,
        &[
            &format!("the message to {http} was refused: 401, 0 B of content. No credentials"),
            "--cert and --key",
        ],
    );
    let psk = libcoap("secret");
    let coaps = format!("coaps://127.0.0.1:{}/a --psk me:wrong --timeout 3s", psk.port + 1);
    let said = probe(folder.path(), &coaps);
    assert!(matches!(said.code, Some(11 | 12)), "{}", said.stderr);
    assert!(said.stderr.contains("--psk"), "{}", said.stderr);
}

#[test]
fn a_refused_message_still_has_its_bytes() {
    let folder = TempDir::new().expect("a folder");
    let server = serve("coap");
    let said = probe(
        folder.path(),
        &format!("coap://127.0.0.1:{}/nonesuch --get", server.port),
    );
    assert_eq!(said.code, Some(12), "{}", said.stderr);
    assert!(
        said.stderr.contains("/nonesuch was refused: 4.04 Not Found"),
        "{}",
        said.stderr
    );
    assert!(said.stdout.contains("message"), "{}", said.stdout);
}

#[test]
fn waiting_is_reported_every_second() {
    let folder = TempDir::new().expect("a folder");
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let port = silent.local_addr().expect("bound").port();
    let said = probe(
        folder.path(),
        &format!("mqtt://127.0.0.1:{port} --timeout 1500ms"),
    );
    assert_eq!(said.code, Some(11), "{}", said.stderr);
    let waiting = format!("1 s  probing mqtt://127.0.0.1:{port}/");
    assert!(said.stderr.contains(&waiting), "{}", said.stderr);
}

#[test]
#[ignore = "needs openssl"]
fn a_server_without_tickets_is_not_called_resumed() {
    let folder = TempDir::new().expect("a folder");
    let files = Authority::new(folder.path()).good();
    need_program("openssl", "openssl");
    let port = own_port();
    let mut command = Command::new("openssl");
    command
        .args([
            "s_server",
            "-quiet",
            "-www",
            "-num_tickets",
            "0",
            "-no_ticket",
            "-tls1_3",
            "-accept",
        ])
        .arg(port.to_string())
        .arg("-cert")
        .arg(&files[0])
        .arg("-key")
        .arg(&files[1]);
    let server = crate::peers::Server::start(command, port);
    server.wait(|server| std::net::TcpStream::connect((Ipv4Addr::LOCALHOST, server.port)).is_ok());
    let arguments = format!("https://127.0.0.1:{port}/ --get --cacert ca.pem --start resumed");
    fails(
        &folder,
        &arguments,
        12,
        &["asked for resumed, the server granted cold", "leave out --start"],
    );
}

#[test]
#[ignore = "needs root and mosquitto"]
fn without_privilege_the_endpoints_own_bytes_are_shown() {
    need_root();
    let folder = open_folder();
    let server = open_mosquitto(None);
    let mut command = wirecost(folder.path());
    command.args(["probe", &format!("mqtt://127.0.0.1:{}", server.port)]);
    let said = said(&mut as_nobody(command, folder.path()));
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(
        said.stderr
            .contains("warning: packets cannot be seen (Operation not permitted"),
        "{}",
        said.stderr
    );
    let row = |name: &str| {
        said.stdout
            .lines()
            .find(|line| line.starts_with(name))
            .expect("a row")
    };
    let cells: Vec<&str> = row("message").split_whitespace().collect();
    // step, time, unit, trips, up, packets, ip, transport, security, application, payload, bytes
    assert_eq!(cells[3..], ["-", "up", "-", "-", "-", "0", "12", "128", "140"]);
}
