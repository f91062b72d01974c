//! Databases as servers of loads and comparisons, and as the witness of what was stored.

#[path = "../common/mod.rs"]
mod common;
#[path = "../peers/port.rs"]
mod port;

mod apache;
mod dashboard;
mod database;
mod hostile;
mod keep;
mod kills;
mod mongodb;
mod path;
mod refused;

use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::Mutex;

use serde_json::Value;
use tempfile::TempDir;

use common::processes::{started_by, while_it_works, within};
use common::tshark::fields;
use common::{Run, Said, ended, need_program, need_root, said, wirecost};
use database::{Database, Login, PASSWORD, Sql};

/// Servers that wirecost starts listen at their registered ports: one at a time.
static PORTS: Mutex<()> = Mutex::new(());

fn load(arguments: &str) -> Said {
    let home = TempDir::new().expect("a folder");
    let mut command = wirecost(home.path());
    command.env("WIRECOST_PASSWORD", PASSWORD);
    said(
        command
            .args(["load", "--quiet", "--json", "-"])
            .args(arguments.split_whitespace()),
    )
}

/// The phase `publish` of a load that ended well. A busy machine makes times invalid, never counts.
fn published(said: &Said) -> Value {
    assert!(
        matches!(said.code, Some(0 | 14)),
        "{:?}\n{}",
        said.code,
        said.stderr
    );
    let summary: Value = serde_json::from_str(&said.stdout).expect("a summary");
    let phases = summary["loads"][0]["phases"].as_array().expect("phases").clone();
    let publish = phases.into_iter().find(|phase| phase["name"] == "publish");
    publish.expect("the phase publish")
}

#[test]
#[ignore = "needs root and postgresql"]
fn every_message_that_postgresql_acknowledged_is_a_row() {
    rows_are_messages(Sql::Postgres);
}

#[test]
#[ignore = "needs root, mariadb-server-core and mariadb-client-core"]
fn every_message_that_mariadb_acknowledged_is_a_row() {
    rows_are_messages(Sql::Mariadb);
}

fn rows_are_messages(store: Sql) {
    let database = Database::from_store(store, Login::Trust, true);
    let arguments = format!(
        "{} -c 10 -r 500/s -n 1000 --size 100B --inflight 16",
        database.url()
    );
    let publish = published(&load(&arguments));
    assert_eq!(publish["outcomes"]["acknowledged"], 1000, "{publish}");
    assert_eq!(database.rows(), 1000);
    let distinct = "SELECT count(DISTINCT sender, number), min(number), max(number), count(DISTINCT sender), \
                    min(length(payload)), max(length(payload)) FROM readings";
    let distinct = match store {
        Sql::Postgres => distinct.replace("sender, number)", "(sender, number))"),
        Sql::Mariadb => distinct.to_owned(),
    };
    assert_eq!(database.sql(&distinct), "1000|0|99|10|100|100");
}

#[test]
#[ignore = "needs root and postgresql"]
fn the_rows_of_a_postgresql_that_wirecost_starts_are_the_acknowledged_messages() {
    need_program("psql", "postgresql-client");
    let count = "psql -X -A -t -h 127.78.0.1 -U wirecost -d test -c";
    rows_of_a_started_server("postgres", "postgresql", count);
}

#[test]
#[ignore = "needs root, mariadb-server-core and mariadb-client-core"]
fn the_rows_of_a_mariadb_that_wirecost_starts_are_the_acknowledged_messages() {
    rows_of_a_started_server("mariadb", "mariadb", COUNT_IN_MARIADB);
}

fn rows_of_a_started_server(stack: &str, target: &str, count: &str) {
    let head = format!("stack: {stack}\ntarget: {target}\nclients: 10\n");
    let (rows, said) = rows_while_it_runs(&head, count);
    assert_eq!(rows, 400, "{}", said.stderr);
    assert_eq!(published(&said)["outcomes"]["acknowledged"], 400);
}

/// The words of a program that counts the rows of a MariaDB that wirecost starts.
const COUNT_IN_MARIADB: &str = "mariadb --no-defaults -N -B -h 127.78.0.1 -u wirecost --password=% test -e";

/// Runs a load of 400 messages that begins with these keys. Returns the most rows while the devices hold their connections, as the
/// program `count` says: the server listens at 127.78.0.1 of its network namespace. A `%` is its password, if it has one.
fn rows_while_it_runs(head: &str, count: &str) -> (u64, Said) {
    need_root();
    let _alone = PORTS.lock().unwrap_or_else(|failed| failed.into_inner());
    let home = TempDir::new().expect("a folder");
    let scenario = format!(
        "wirecost: 1\n{head}phases:\n  - {{do: publish, rate: 200/s, count: 400}}\n  - {{do: hold, duration: 6s}}\n"
    );
    fs::write(home.path().join("load.yaml"), scenario).expect("a file");
    let mut command = wirecost(home.path());
    command.args(["run", "--quiet", "--json", "-", "--out", "run", "load.yaml"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.expect("wirecost starts");
    let mut most: u64 = 0;
    let process = child.id();
    while_it_works("the load has ended", process, || {
        most = most.max(rows_now(&child, home.path(), count).unwrap_or(0));
        child.try_wait().expect("a child").is_some()
    });
    (most, ended(child))
}

/// The rows of the server of a run; `None` while it does not answer.
fn rows_now(run: &Child, home: &Path, count: &str) -> Option<u64> {
    let server = started_by(run.id()).first().copied()?;
    let statements = fs::read_to_string(home.join("run/mariadb.d/mariadb.sql")).unwrap_or_default();
    let password = statements
        .split("IDENTIFIED BY '")
        .nth(1)
        .and_then(|text| text.split('\'').next());
    let words = count.replace('%', password.unwrap_or_default());
    let mut words = words.split(' ');
    let mut client = within(server, words.next()?);
    let output = client.args(words).arg("SELECT count(*) FROM readings").output();
    let output = output.expect("nsenter and the database's own client start");
    String::from_utf8_lossy(&output.stdout).trim().parse().ok()
}

#[test]
#[ignore = "needs root and postgresql"]
fn postgresql_takes_a_password_by_scram_and_refuses_a_wrong_one_in_its_words() {
    password_is_proven(
        Sql::Postgres,
        "password authentication failed for user \"wirecost\" (28P01)",
    );
}

#[test]
#[ignore = "needs root, mariadb-server-core and mariadb-client-core"]
fn mariadb_takes_a_password_and_refuses_a_wrong_one_in_its_words() {
    password_is_proven(
        Sql::Mariadb,
        "Access denied for user 'wirecost'@'localhost' (using password: YES) (1045)",
    );
}

fn password_is_proven(store: Sql, words: &str) {
    let database = Database::from_store(store, Login::Password, true);
    let publish = published(&load(&format!(
        "{} --user wirecost -c 2 -r 50/s -n 20",
        database.url()
    )));
    assert_eq!(publish["outcomes"]["acknowledged"], 20, "{publish}");
    let home = TempDir::new().expect("a folder");
    let mut command = wirecost(home.path());
    command.args([
        "probe",
        "--user",
        "wirecost",
        "--password",
        "wrong",
        &database.url(),
    ]);
    let wrong = said(&mut command);
    assert!(wrong.stderr.contains(words), "{}", wrong.stderr);
    assert_eq!(wrong.code, Some(12), "{}", wrong.stderr);
}

#[test]
#[ignore = "needs root and postgresql"]
fn a_database_or_a_table_that_postgresql_does_not_have_is_named() {
    absent_is_named(
        Sql::Postgres,
        [
            "database \"nowhere\" does not exist (3D000)",
            "relation \"readings\" does not exist (42P01)",
        ],
    );
}

#[test]
#[ignore = "needs root, mariadb-server-core and mariadb-client-core"]
fn a_database_or_a_table_that_mariadb_does_not_have_is_named() {
    absent_is_named(
        Sql::Mariadb,
        [
            "Unknown database 'nowhere' (1049)",
            "Table 'readings.readings' doesn't exist (1146)",
        ],
    );
}

fn absent_is_named(store: Sql, words: [&str; 2]) {
    let database = Database::from_store(store, Login::Trust, false);
    let url = database.url();
    for (url, words) in [url.replace("/readings", "/nowhere"), url].iter().zip(words) {
        let home = TempDir::new().expect("a folder");
        let said = said(wirecost(home.path()).args(["probe", url]));
        assert!(said.stderr.contains(words), "{}", said.stderr);
        assert_eq!(said.code, Some(12), "{}", said.stderr);
    }
}

/// Bytes up and down: of the connect, of messages, of the close.
type Sums = [[u64; 2]; 3];

/// The devices of a run: two for each size.
const DEVICES: u64 = 6;

/// The bytes of a run's live cells, as its summary has them. A device's first message has `first_more` bytes more.
fn ours(run: &Run, first_more: u64) -> Sums {
    let mut sums = Sums::default();
    for cell in run.summary.cells.iter().filter(|cell| cell.engine == "live") {
        let sections = [&cell.connect, &cell.message, &cell.close];
        for (sum, section) in sums.iter_mut().zip(sections) {
            let section = section.as_ref().expect("a live cell has all sections");
            for (sum, bytes) in sum.iter_mut().zip([&section.up, &section.down]) {
                *sum += bytes.application.sum + bytes.payload.sum;
            }
        }
    }
    // Each device sends one message more than is measured, to warm up.
    sums[1] = sums[1].map(|sum| 2 * sum);
    sums[1][0] += first_more * DEVICES;
    sums
}

#[test]
#[ignore = "needs root, postgresql and tshark"]
fn every_byte_of_postgresql_is_where_tshark_sees_it() {
    let _alone = PORTS.lock().unwrap_or_else(|failed| failed.into_inner());
    for target in ["builtin", "postgresql"] {
        let run = Run::compare(&format!(
            "--target {target} postgres -s 1B,128B,3kB -n 2 --settle 300ms"
        ));
        let names = ["tcp.dstport", "pgsql.type", "pgsql.length"];
        let mut seen = Sums::default();
        for row in fields(&run.file("capture/all.pcapng"), "pgsql", &names) {
            let is_message = row[1].contains("Bind");
            for (kind, length) in row[1].split(',').zip(row[2].split(',')) {
                let length: u64 = length.parse().expect("a length");
                let (phase, header) = match kind {
                    "Startup message" => (0, 0),
                    "Termination" => (2, 1),
                    _ => (usize::from(is_message), 1),
                };
                seen[phase][usize::from(row[0] != "5432")] += length + header;
            }
        }
        assert_eq!(ours(&run, 0), seen, "{target}");
    }
}

#[test]
#[ignore = "needs root, mariadb-server-core, mariadb-client-core and tshark"]
fn every_byte_of_mariadb_is_where_tshark_sees_it() {
    let _alone = PORTS.lock().unwrap_or_else(|failed| failed.into_inner());
    for target in ["builtin", "mariadb"] {
        let run = Run::compare(&format!(
            "--target {target} mariadb -s 1B,128B,3kB -n 2 --settle 300ms"
        ));
        let names = [
            "tcp.dstport",
            "tcp.stream",
            "mysql.packet_length",
            "mysql.command",
        ];
        let mut seen = Sums::default();
        let mut executing = std::collections::BTreeSet::new();
        for row in fields(&run.file("capture/all.pcapng"), "mysql", &names) {
            // 23 is COM_STMT_EXECUTE, 1 is COM_QUIT.
            if row[3] == "23" {
                executing.insert(row[1].clone());
            }
            let phase = match &row[3][..] {
                "1" => 2,
                _ => usize::from(executing.contains(&row[1])),
            };
            for length in row[2].split(',') {
                let length: u64 = length.parse().expect("a length");
                seen[phase][usize::from(row[0] != "3306")] += length + 4;
            }
        }
        // The types of three parameters.
        assert_eq!(ours(&run, 6), seen, "{target}");
    }
}
