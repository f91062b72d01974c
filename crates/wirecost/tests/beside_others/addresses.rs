//! A name with several addresses, of which the first one has no server.

use tempfile::TempDir;

use crate::in_namespaces;

/// A name server's answer of this machine: the server is at the second address alone.
const TWO_ADDRESSES: &str = "ip link set lo up; printf '::1 localhost\\n127.0.0.1 localhost\\n' > hosts; mount --bind hosts /etc/hosts; ";

/// Runs wirecost where `localhost` is `::1` first, with a server of wirecost at 127.0.0.1.
fn beside(server: &str, script: &str) -> crate::common::Said {
    let home = TempDir::new().expect("a folder");
    let script = format!(
        "{TWO_ADDRESSES}\"$0\" serve {server} >/dev/null 2>&1 & serving=$!; sleep 0.5; {script}; code=$?; kill $serving; exit $code"
    );
    in_namespaces(home.path(), "--net --mount", &script)
}

#[test]
#[ignore = "needs root and iproute2"]
fn every_command_uses_the_address_that_accepts_a_connection() {
    for (server, command) in [
        (
            "mqtt --listen 127.0.0.1:1883",
            "load mqtt://localhost:1883/t -c 2 -n 4 -r 20/s",
        ),
        (
            "mqtt --listen 127.0.0.1:1883",
            "load mqtt://localhost:1883/t -c 2 -n 4 -r 20/s --rtt 5ms",
        ),
        (
            "coap --listen 127.0.0.1:5683",
            "load coap://localhost:5683/test -c 2 -n 4 -r 20/s",
        ),
        (
            "mqtt --listen 127.0.0.1:1883",
            "compare mqtt-qos1 -n 2 --target mqtt://localhost:1883 --engine live",
        ),
        ("mqtt --listen 127.0.0.1:1883", "probe mqtt://localhost:1883/t"),
        ("coap --listen 127.0.0.1:5683", "probe coap://localhost:5683/test"),
    ] {
        let said = beside(
            server,
            &format!("\"$0\" {command} >out 2>err; code=$?; cat out err >&2; (exit $code)"),
        );
        assert!(matches!(said.code, Some(0 | 14)), "{command}: {}", said.stderr);
        assert!(
            said.stderr.contains("[::1]:") && said.stderr.contains("not accept the connection"),
            "{command} says which address it left out: {}",
            said.stderr
        );
    }
}

#[test]
#[ignore = "needs root and iproute2"]
fn a_name_without_a_server_is_answered_with_all_its_addresses() {
    for command in [
        "load mqtt://localhost:1900/t -c 2 -n 4 -r 20/s",
        "compare mqtt-qos1 -n 2 --target mqtt://localhost:1900 --engine live",
        "store mqtt://localhost:1900/t postgres://localhost:1901/d",
    ] {
        let said = beside("mqtt --listen 127.0.0.1:1883", &format!("\"$0\" {command}"));
        assert_eq!(said.code, Some(11), "{command}: {}", said.stderr);
        let error = said.line("error: ").expect("a sentence");
        assert!(
            error.contains("[::1]:1900: connection refused; 127.0.0.1:1900: connection refused"),
            "{command}: {error}"
        );
    }
}
