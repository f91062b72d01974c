//! `wirecost store`: from a broker into a database that stops, is killed and comes back.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

use crate::common::{Said, ended, eventually, said, signal, wirecost};
use crate::database::{Database, Login, PASSWORD, Sql};
use crate::port::own_port;

/// How long the database stands still.
const STOPPED: Duration = Duration::from_secs(10);

/// A child that is killed with this value.
pub(crate) struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// A broker of wirecost's, and its port.
pub(crate) fn broker(home: &TempDir) -> (Killed, u16) {
    let port = own_port();
    let mut command = wirecost(home.path());
    command.args([
        "serve",
        "mqtt",
        "--quiet",
        "--listen",
        &format!("127.0.0.1:{port}"),
    ]);
    let child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("a broker");
    eventually("the broker listens", || {
        std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
    });
    (Killed(child), port)
}

/// `wirecost store` on its way, with the lines of its stderr.
pub(crate) struct Storing {
    child: Child,
    lines: Receiver<String>,
}

impl Storing {
    /// Starts it, and waits until it is subscribed.
    pub(crate) fn start(home: &TempDir, port: u16, database: &Database, more: &str) -> Self {
        let mut command = wirecost(home.path());
        command.args([
            "store",
            &format!("mqtt://127.0.0.1:{port}/sensors/%23"),
            &database.url(),
        ]);
        command.args(more.split_whitespace());
        Self::from_command(command)
    }

    /// Runs the command, and waits until it is subscribed.
    pub(crate) fn from_command(mut command: Command) -> Self {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("wirecost store");
        let stderr = BufReader::new(child.stderr.take().expect("stderr"));
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                drop(sender.send(line));
            }
        });
        let storing = Self { child, lines };
        storing.hears("broker: subscribed");
        storing
    }

    /// Waits for a line.
    pub(crate) fn hears(&self, text: &str) {
        while !self
            .lines
            .recv_timeout(Duration::from_secs(30))
            .expect(text)
            .contains(text)
        {}
    }

    /// Kills it, with everything that it holds.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("a child");
        self.child.wait().expect("a child");
    }

    /// Interrupts it; its counts: received, stored, refused, lost, held, sent again, set aside, delivered again.
    pub(crate) fn counts(self) -> [u64; 8] {
        let [counts] = self.counts_of_each();
        counts
    }

    /// Interrupts it; the counts of each of its stores.
    fn counts_of_each<const N: usize>(self) -> [[u64; 8]; N] {
        signal(self.child.id(), "INT");
        let said = ended(self.child);
        assert_eq!(said.code, Some(0));
        let of_line = |line: &str| {
            let words = line.split_whitespace();
            let numbers: Vec<u64> = words.filter_map(|word| word.parse().ok()).collect();
            numbers.try_into().unwrap_or_else(|_| panic!("{line}"))
        };
        let counts: Vec<[u64; 8]> = said.stdout.lines().map(of_line).collect();
        counts.try_into().unwrap_or_else(|_| panic!("{}", said.stdout))
    }
}

/// Publishes `count` messages at 100/s.
pub(crate) fn publish(home: &TempDir, port: u16, count: u64) -> Said {
    let mut command = wirecost(home.path());
    command.args([
        "load",
        "--quiet",
        &format!("mqtt://127.0.0.1:{port}"),
        "--resource",
        "sensors/%d",
        "-c",
        "5",
    ]);
    command.args([
        "-r",
        "100/s",
        "-n",
        &count.to_string(),
        "--payload-template",
        "{\"n\": %n}",
    ]);
    said(&mut command)
}

#[test]
#[ignore = "needs root and postgresql"]
fn readings_outlast_a_postgresql_that_stops_is_killed_and_comes_back() {
    outlasts(Sql::Postgres, "--max-held 64MB", false);
}

#[test]
#[ignore = "needs root, mariadb-server-core and mariadb-client-core"]
fn what_finds_no_room_while_mariadb_is_away_is_counted_as_lost() {
    outlasts(Sql::Mariadb, "--max-held 50kB --qos 0", true);
}

#[test]
#[ignore = "needs root, mariadb-server-core and mariadb-client-core"]
fn what_finds_no_room_while_mariadb_is_away_stays_with_the_broker() {
    outlasts(Sql::Mariadb, "--max-held 5kB", false);
}

#[test]
#[ignore = "needs root and postgresql"]
fn what_finds_no_room_stays_with_a_broker_of_version_3_1_1_too() {
    outlasts(Sql::Postgres, "--max-held 20kB --mqtt 3.1.1", false);
}

fn outlasts(store: Sql, more: &str, loses: bool) {
    let home = TempDir::new().expect("a folder");
    let mut database = Database::from_store(store, Login::Trust, false);
    let (_broker, port) = broker(&home);
    let storing = Storing::start(&home, port, &database, more);
    let publishing = thread::spawn({
        let home = TempDir::new().expect("a folder");
        move || publish(&home, port, 1500)
    });
    eventually("the first rows", || database.rows() > 50);
    database.signal("STOP");
    thread::sleep(STOPPED);
    database.kill();
    storing.hears("store: ");
    database.start();
    let load = publishing.join().expect("the load ends");
    assert!(matches!(load.code, Some(0 | 14)), "{}", load.stderr);
    let mut rows = 0;
    eventually("all rows", || {
        thread::sleep(Duration::from_secs(2));
        std::mem::replace(&mut rows, database.rows()) == database.rows()
    });
    let [received, stored, refused, lost, held, resent, aside, redelivered] = storing.counts();
    assert_eq!((refused, held, aside), (0, 0, 0));
    assert_eq!(received, 1500, "{redelivered} were delivered again");
    assert_eq!(stored + lost, received);
    assert_eq!(lost > 0, loses, "{lost} lost");
    let distinct = match store {
        Sql::Postgres => "SELECT count(DISTINCT (sender, number)) FROM readings",
        Sql::Mariadb => "SELECT count(DISTINCT sender, number) FROM readings",
    };
    assert_eq!(database.sql(distinct), stored.to_string());
    assert!((stored..=stored + resent).contains(&database.rows()));
}

#[test]
#[ignore = "needs root and postgresql"]
fn postgresql_has_no_rows_after_their_time() {
    expires(Sql::Postgres, "SELECT min(payload->>'n') FROM readings");
}

#[test]
#[ignore = "needs root, mariadb-server-core and mariadb-client-core"]
fn mariadb_has_no_rows_after_their_time() {
    expires(
        Sql::Mariadb,
        "SELECT min(JSON_VALUE(payload, '$.n')) FROM readings",
    );
}

#[test]
#[ignore = "needs root and postgresql"]
fn readings_wait_for_room_on_the_disk_of_postgresql_up_to_the_bound() {
    let home = TempDir::new().expect("a folder");
    let database = Database::on_small_disk();
    let (_broker, port) = broker(&home);
    let storing = Storing::start(&home, port, &database, "--max-held 100kB --qos 0");
    publish(&home, port, 20);
    eventually("the first rows", || database.rows() == 20);
    let ballast = database.fill();
    let load = publish(&home, port, 2000);
    assert!(matches!(load.code, Some(0 | 14)), "{}", load.stderr);
    storing.hears("store: it takes nothing now, readings are held: could not extend file");
    storing.hears("there is no room for more readings: they are lost");
    drop(ballast);
    let before = database.rows();
    eventually("the held readings are stored", || database.rows() > before);
    publish(&home, port, 20);
    let mut rows = 0;
    eventually("all rows", || {
        thread::sleep(Duration::from_secs(2));
        std::mem::replace(&mut rows, database.rows()) == database.rows()
    });
    let [received, stored, refused, lost, held, resent, ..] = storing.counts();
    assert_eq!((received, refused, held, resent), (2040, 0, 0, 0));
    assert_eq!((stored + lost, stored), (received, database.rows()));
    assert!(lost > 0, "the bound was not reached");
}

#[test]
#[ignore = "needs root and postgresql"]
fn postgresql_over_tls_is_trusted_by_its_authority_alone() {
    let home = TempDir::new().expect("a folder");
    let (database, authority) = Database::over_tls();
    std::fs::write(home.path().join("ca.pem"), authority).expect("a file");
    let (_broker, port) = broker(&home);
    let (broker, url) = (
        format!("mqtt://127.0.0.1:{port}/sensors/%23"),
        database.url().replace("127.0.0.1", "localhost"),
    );
    for (more, code, words) in [
        ("", 11, "no pg_hba.conf entry"),
        ("--store-tls", 12, "certificate is not accepted"),
    ] {
        let mut command = wirecost(home.path());
        command.env("WIRECOST_STORE_PASSWORD", PASSWORD);
        command
            .args(["store", &broker, &url])
            .args(more.split_whitespace());
        let said = said(&mut command);
        assert!(said.stderr.contains(words), "{}", said.stderr);
        assert_eq!(said.code, Some(code), "{}", said.stderr);
    }
    let mut command = wirecost(home.path());
    command.env("WIRECOST_STORE_PASSWORD", PASSWORD);
    command.args(["store", &broker, &url, "--store-tls", "--cacert", "ca.pem"]);
    let storing = Storing::from_command(command);
    publish(&home, port, 50);
    eventually("all rows", || database.rows() == 50);
    assert_eq!(storing.counts()[..2], [50, 50]);
}

fn expires(store: Sql, first: &str) {
    let home = TempDir::new().expect("a folder");
    let database = Database::from_store(store, Login::Trust, false);
    let (_broker, port) = broker(&home);
    let storing = Storing::start(&home, port, &database, "--ttl 5s");
    publish(&home, port, 20);
    eventually("a row with its payload as JSON", || database.sql(first) == "1");
    eventually("no rows", || database.rows() == 0);
    let [received, stored, ..] = storing.counts();
    assert_eq!((received, stored), (20, 20));
}

#[test]
#[ignore = "needs root and postgresql"]
fn readings_that_expire_in_the_first_store_stay_in_the_one_behind_it() {
    let home = TempDir::new().expect("a folder");
    let [fog, cloud] = [(), ()].map(|()| Database::from_store(Sql::Postgres, Login::Trust, false));
    let (_broker, port) = broker(&home);
    let more = format!("--ttl 5s --behind {}", cloud.url());
    let storing = Storing::start(&home, port, &fog, &more);
    publish(&home, port, 20);
    eventually("rows in both stores", || fog.rows() == 20 && cloud.rows() == 20);
    eventually("no rows in the first store", || fog.rows() == 0);
    assert_eq!(cloud.rows(), 20);
    let [first, behind] = storing.counts_of_each();
    assert_eq!(first[..2], [20, 20]);
    assert_eq!(behind[..2], [20, 20]);
}

#[test]
#[ignore = "needs root and postgresql"]
fn a_store_behind_that_cannot_be_used_ends_both_before_anything_runs() {
    let home = TempDir::new().expect("a folder");
    let database = Database::from_store(Sql::Postgres, Login::Trust, false);
    let (_broker, port) = broker(&home);
    let (broker, url) = (format!("mqtt://127.0.0.1:{port}"), database.url());
    for (behind, code, words) in [
        (
            url.replace("/readings", "/nowhere"),
            11,
            "behind: cannot use the store: database \"nowhere\" does not exist (3D000)",
        ),
        (url.clone(), 2, "another database than STORE"),
    ] {
        let said = said(wirecost(home.path()).args(["store", &broker, &url, "--behind", &behind]));
        assert!(said.stderr.contains(words), "{behind}: {}", said.stderr);
        assert_eq!(said.code, Some(code), "{behind}");
    }
}

#[test]
#[ignore = "needs root and postgresql"]
fn an_absent_database_or_broker_is_said_before_anything_runs() {
    let home = TempDir::new().expect("a folder");
    let database = Database::from_store(Sql::Postgres, Login::Trust, false);
    let (_broker, port) = broker(&home);
    let (url, broker) = (database.url(), format!("mqtt://127.0.0.1:{port}"));
    let nowhere = url.replace("/readings", "/nowhere");
    let absent = format!("mqtt://127.0.0.1:{}", own_port());
    for (arguments, code, words) in [
        (
            [&broker, &nowhere],
            11,
            "cannot use the store: database \"nowhere\" does not exist (3D000)",
        ),
        ([&absent, &url], 11, "cannot use the broker: connection refused"),
    ] {
        let said = said(wirecost(home.path()).arg("store").args(arguments));
        assert!(said.stderr.contains(words), "{arguments:?}: {}", said.stderr);
        assert_eq!(said.code, Some(code), "{arguments:?}");
    }
}
