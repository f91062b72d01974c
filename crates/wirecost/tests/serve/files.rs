//! What a server writes: its authority and the secrets of its connections.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::common::{eventually, signal};
use crate::peers::Server;
use crate::{certificates, client, said, serve, serve_in};

fn publish(server: &Server, authority: &str) -> Option<i32> {
    let arguments = format!("--cafile {authority} -h localhost -p PORT -t test -m x -q 1");
    client(server, "mosquitto_pub", "mosquitto-clients", &arguments).code
}

fn mode(file: &Path) -> u32 {
    let metadata = file.metadata().expect("the file is there");
    metadata.permissions().mode() & 0o777
}

#[test]
#[ignore = "needs openssl"]
fn the_authority_is_a_temporary_file_that_goes_with_the_server() {
    let mut server = serve("mqtt --tls");
    said(&server, &["clients trust /"]);
    let log = server.log();
    let (_, after) = log.split_once("clients trust ").expect("a line");
    let (file, _) = after.split_once(": ").expect("a command");
    assert!(file.ends_with(".pem") && Path::new(file).is_file(), "{file}");
    assert_eq!(publish(&server, file), Some(0));
    server.interrupt();
    assert!(!Path::new(file).exists(), "{file}");
}

#[test]
#[ignore = "needs openssl"]
fn secrets_go_to_a_file_of_its_owner_alone() {
    let folder = certificates();
    let file = folder.path().join("keys");
    std::fs::write(&file, "# from before\n").expect("a file");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).expect("permissions");
    let server = serve_in(folder, "mqtt --tls --ca-out ca.pem --keylog keys");
    assert_eq!(mode(&file), 0o600);
    assert_eq!(publish(&server, "@ca.pem"), Some(0));
    // RFC 9850: what a connection of TLS 1.3 leaves.
    let labels = [
        "CLIENT_HANDSHAKE_TRAFFIC_SECRET",
        "SERVER_HANDSHAKE_TRAFFIC_SECRET",
        "CLIENT_TRAFFIC_SECRET_0",
        "SERVER_TRAFFIC_SECRET_0",
    ];
    eventually("the secrets are written", || {
        let text = std::fs::read_to_string(&file).expect("the file");
        text.starts_with("# from before\n") && labels.iter().all(|label| text.contains(label))
    });
}

#[test]
#[ignore = "needs openssl"]
fn datagrams_and_quic_leave_their_secrets_too() {
    let server = serve("coap --psk me:secret --keylog keys");
    let get = "-B 5 -m get -u me -k secret coaps://127.0.0.1:PORT/test";
    client(&server, "coap-client-openssl", "libcoap3-bin", get);
    let keys = server.folder().join("keys");
    let written = |label: &str| std::fs::read_to_string(&keys).is_ok_and(|text| text.contains(label));
    eventually("DTLS 1.2 leaves its master secret", || written("CLIENT_RANDOM "));
    let server = serve("http3 --keylog keys");
    let keys = server.folder().join("keys");
    let get =
        "--no-quic-dump --no-http-dump --exit-on-all-streams-close 127.0.0.1 PORT https://localhost/test";
    client(&server, "gtlsclient", "ngtcp2-client", get);
    let written = |label: &str| std::fs::read_to_string(&keys).is_ok_and(|text| text.contains(label));
    eventually("QUIC leaves its secrets", || written("CLIENT_TRAFFIC_SECRET_0 "));
}

impl Server {
    /// Ends the server as Ctrl-C does.
    fn interrupt(&mut self) {
        signal(self.id(), "INT");
        assert!(self.ends_well(), "{}", self.log());
    }
}
