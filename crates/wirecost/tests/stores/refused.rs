//! What `wirecost store` refuses, how it reaches a broker over TLS, and what it holds while a database is away: without a database
//! of another maker.

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::common::{Said, ended, eventually, said, signal, wirecost};
use crate::port::own_port;

/// A child that is killed with this value.
pub(crate) struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// A server of wirecost's that listens.
pub(crate) fn serve(home: &TempDir, arguments: &str) -> (Killed, SocketAddr) {
    let address = SocketAddr::from(([127, 0, 0, 1], own_port()));
    let mut command = wirecost(home.path());
    command
        .arg("serve")
        .args(arguments.split(' '))
        .args(["--listen", &address.to_string()]);
    let child = Killed(spawned(&mut command));
    eventually("it listens", || TcpStream::connect(address).is_ok());
    (child, address)
}

fn spawned(command: &mut Command) -> Child {
    command
        .stderr(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .expect("it starts")
}

/// Publishes `count` messages of 100 B as fast as they are acknowledged.
fn publish(home: &TempDir, broker: &str, count: u32, more: &str) {
    let scheme = if more.is_empty() { "mqtt" } else { "mqtts" };
    let line = format!("load {scheme}://{broker} -q -s 100B -c 10 --closed-loop -n {count} {more}");
    let load = said(wirecost(home.path()).args(line.split_whitespace()));
    assert!(matches!(load.code, Some(0 | 14)), "{}", load.stderr);
}

fn counts(said: &Said) -> Vec<u64> {
    let words = said.stdout.split_whitespace();
    words.filter_map(|word| word.parse().ok()).collect()
}

#[test]
fn a_url_or_an_option_that_does_not_fit_is_one_sentence_and_exit_code_2() {
    let home = TempDir::new().expect("a folder");
    const BROKER: &str = "mqtt://127.0.0.1:1";
    const STORE: &str = "postgres://127.0.0.1:1/readings";
    for (arguments, words) in [
        (
            [BROKER, "http://127.0.0.1/readings", ""],
            "STORE must be postgres://, mariadb:// or mongodb://HOST/DATABASE",
        ),
        ([BROKER, "mysqll://127.0.0.1/readings", ""], "unknown scheme"),
        ([BROKER, "postgres://127.0.0.1:1", ""], "STORE names no database"),
        ([BROKER, "mongodb://127.0.0.1:1/", ""], "STORE names no database"),
        (
            ["amqp://127.0.0.1", STORE, ""],
            "BROKER must be mqtt:// or mqtts://HOST/FILTER",
        ),
        (
            [BROKER, STORE, "--insecure"],
            "--cacert and --insecure go with a broker or a store over TLS",
        ),
        (
            [BROKER, "mariadb://127.0.0.1:1/readings", "--store-tls"],
            "--store-tls is for postgres://",
        ),
        (
            ["mqtts://127.0.0.1:1", STORE, "--cacert=nowhere.pem"],
            "nowhere.pem",
        ),
        (
            ["mqtt://127.0.0.1:1/a%23", STORE, ""],
            "topic filter \"a#\" is ill-formed",
        ),
        ([BROKER, STORE, "--ttl=0s"], "--ttl must be above 0s"),
        (
            [BROKER, STORE, "--dashboard=nowhere"],
            "is neither a port nor ADDRESS:PORT",
        ),
        (
            [BROKER, STORE, "--store-password-file=nowhere"],
            "cannot read nowhere",
        ),
    ] {
        let mut command = wirecost(home.path());
        command
            .arg("store")
            .args(arguments.iter().filter(|word| !word.is_empty()));
        let said = said(&mut command);
        assert!(said.stderr.contains(words), "{arguments:?}: {}", said.stderr);
        assert_eq!(said.code, Some(2), "{arguments:?}: {}", said.stderr);
        let errors = said.stderr.lines().filter(|line| line.starts_with("error: "));
        assert_eq!(errors.count(), 1, "{}", said.stderr);
    }
    assert_eq!(fs::read_dir(home.path()).expect("a folder").count(), 0);
    let said = said(wirecost(home.path()).args(["store", BROKER, STORE]));
    assert!(
        said.stderr
            .starts_with("error: cannot use the store: connection refused"),
        "{}",
        said.stderr
    );
    assert_eq!(said.code, Some(11));
}

#[test]
fn a_broker_over_tls_is_trusted_by_its_authority_alone() {
    let home = TempDir::new().expect("a folder");
    let (_broker, broker) = serve(&home, "mqtt --tls --ca-out ca.pem");
    let (_store, store) = serve(&home, "postgres");
    let (_plain, plain) = serve(&home, "mqtt");
    let store = format!("postgres://{store}/readings");
    let broker = format!("localhost:{}", broker.port());
    for (url, words) in [
        (format!("mqtts://{broker}"), "certificate is not accepted"),
        (format!("mqtts://{plain}"), "cannot use the broker: "),
    ] {
        let mut command = wirecost(home.path());
        let said = said(command.args(["store", &url, &store]));
        assert!(said.stderr.contains(words), "{}", said.stderr);
        assert_eq!(said.code, Some(12), "{}", said.stderr);
    }
    let mut command = wirecost(home.path());
    command.args([
        "store",
        &format!("mqtts://{broker}"),
        &store,
        "--cacert",
        "ca.pem",
        "--dashboard",
        "0",
    ]);
    let storing = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut storing = storing.expect("wirecost store");
    let stderr = storing.stderr.take().expect("stderr");
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(stderr));
    assert!(lines.any(|line| line.is_ok_and(|line| line == "broker: subscribed")));
    publish(&home, &broker, 200, "--cacert ca.pem");
    signal(storing.id(), "INT");
    let counts = counts(&ended(storing));
    assert_eq!(counts, [200, 200, 0, 0, 0, 0, 0, 0]);
}

/// The resident memory of a process in kB.
fn resident(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.and_then(|number| number.parse().ok()).expect("a number")
}

#[test]
fn memory_is_flat_while_a_database_is_away_longer_than_readings_are_held() {
    let home = TempDir::new().expect("a folder");
    let (_broker, broker) = serve(&home, "mqtt");
    let (database, store) = serve(&home, "postgres");
    let mut command = wirecost(home.path());
    let urls = [format!("mqtt://{broker}"), format!("postgres://{store}/readings")];
    command
        .arg("store")
        .args(urls)
        .args(["--max-held", "1MB", "--qos", "0"]);
    let storing = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut storing = storing.expect("wirecost store");
    let stderr = storing.stderr.take().expect("stderr");
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(stderr));
    let mut hears = |text: &str| {
        let heard = lines.any(|line| line.is_ok_and(|line| line.contains(text)));
        assert!(heard, "{text}");
    };
    hears("broker: subscribed");
    drop(database);
    hears("store: ");
    publish(&home, &broker.to_string(), 5_000, "");
    hears("there is no room for more readings: they are lost");
    let full = resident(storing.id());
    publish(&home, &broker.to_string(), 15_000, "");
    let later = resident(storing.id());
    assert!(later < full + 1_000, "{full} kB, then {later} kB");
    signal(storing.id(), "INT");
    let counts = counts(&ended(storing));
    let [received, stored, refused, lost, held, ..] = counts[..] else {
        panic!("{counts:?}");
    };
    assert_eq!((received, stored, refused), (20_000, 0, 0));
    assert_eq!(lost + held, received);
    assert!((1..5_000).contains(&held), "{held}");
}
