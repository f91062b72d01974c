//! A machine that has no port or no file left says so of itself, and not of the server.

use std::process::Command;

use tempfile::TempDir;

use crate::common::{WIRECOST, said};
use crate::{in_namespaces, load_of, phase};

/// Loopback with 64 ports for connections, which a closed connection keeps for a minute.
const FEW_PORTS: &str = "ip link set lo up; echo 40000 40063 > /proc/sys/net/ipv4/ip_local_port_range; \
                         echo 0 > /proc/sys/net/ipv4/tcp_tw_reuse; \"$0\" serve mqtt --listen 127.0.0.1:1883 >/dev/null 2>&1 & \
                         serving=$!; sleep 0.5; ";

#[test]
#[ignore = "needs root and iproute2"]
fn ports_that_are_used_up_are_the_generators_fault() {
    let home = TempDir::new().expect("a folder");
    let load = "\"$0\" load mqtt://127.0.0.1:1883 -c 10 --connect-only -r 100/s -d 2s -q --json - --out run; code=$?; \
                kill $serving; exit $code";
    let said = in_namespaces(home.path(), "--net", &format!("{FEW_PORTS}{load}"));
    assert_eq!(said.code, Some(14), "{}", said.stderr);
    let load = load_of(&said);
    assert_eq!(load["bottleneck"]["who"], "generator", "{}", load["bottleneck"]);
    let phase = phase(&load, "handshakes");
    let failed = phase["outcomes"]["failed"].as_u64().expect("a count");
    assert!(failed > 50, "{phase}");
    assert_eq!(
        phase["reasons"]["no local port left"].as_u64(),
        Some(failed),
        "each counts once: {phase}"
    );
    assert_eq!(phase["connects"]["failed"].as_u64(), Some(failed), "{phase}");
    let warnings = phase["warnings"].to_string();
    assert!(
        warnings.contains("generator-sockets")
            && warnings.contains("--source")
            && warnings.contains("ip_local_port_range"),
        "{warnings}"
    );
    // The hint can be followed.
    let sources: Vec<String> = (2..10).map(|host| format!("127.0.0.{host}")).collect();
    let load = format!(
        "\"$0\" load mqtt://127.0.0.1:1883 -c 10 --connect-only -r 100/s -d 2s -q --json - --out run2 --source {}; \
         code=$?; kill $serving; exit $code",
        sources.join(",")
    );
    let said = in_namespaces(home.path(), "--net", &format!("{FEW_PORTS}{load}"));
    let load = load_of(&said);
    assert_eq!(
        crate::phase(&load, "handshakes")["outcomes"]["failed"],
        0,
        "{}",
        said.stderr
    );
}

#[test]
fn a_limit_of_open_files_has_a_way_out_that_can_be_followed() {
    let home = TempDir::new().expect("a folder");
    let under = |limit: &str| {
        let script = format!("ulimit -n {limit}; exec \"$0\" load mqtt-qos1 -c 10 -n 20 -r 100/s -q");
        let mut command = Command::new("sh");
        command.args(["-c", &script, WIRECOST]).current_dir(home.path());
        said(&mut command)
    };
    let refused = under("128");
    assert_eq!(refused.code, Some(10), "{}", refused.stderr);
    let hint = refused.line("hint: ").expect("a way out");
    let needed = hint
        .strip_prefix("ulimit -n ")
        .and_then(|rest| rest.split(' ').next());
    let needed = needed.unwrap_or_else(|| panic!("{hint}"));
    assert!(
        !hint.contains("--source") && !hint.contains("--processes"),
        "{hint}"
    );
    let followed = under(needed);
    assert!(matches!(followed.code, Some(0 | 14)), "{}", followed.stderr);
}
