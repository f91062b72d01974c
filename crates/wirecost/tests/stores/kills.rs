//! Kills of `wirecost store` while readings pass. `scripts/kill-store` kills its database and its broker, too, and many times.

use std::thread;

use tempfile::TempDir;

use crate::common::{eventually, said, wirecost};
use crate::database::{Database, Login, Sql};
use crate::keep::{Storing, broker, publish};

const READINGS: u64 = 600;

/// Readings with different content.
fn distinct(database: &Database) -> u64 {
    let counted = match database.store {
        Sql::Postgres => "SELECT count(DISTINCT (sender, payload)) FROM readings",
        Sql::Mariadb => "SELECT count(DISTINCT sender, payload) FROM readings",
    };
    database.sql(counted).parse().expect("a number")
}

#[test]
#[ignore = "needs root and postgresql"]
fn a_store_that_is_killed_loses_nothing_on_its_way_to_postgresql() {
    loses_nothing(Sql::Postgres, "");
}

#[test]
#[ignore = "needs root, mariadb-server-core and mariadb-client-core"]
fn a_store_that_is_killed_loses_nothing_on_its_way_to_mariadb() {
    loses_nothing(Sql::Mariadb, "--mqtt 3.1.1 --qos 2");
}

/// Kills the store once while it has readings without an answer from the database.
fn loses_nothing(store: Sql, more: &str) {
    let home = TempDir::new().expect("a folder");
    let database = Database::from_store(store, Login::Trust, false);
    let (_broker, port) = broker(&home);
    let storing = Storing::start(&home, port, &database, more);
    let publishing = thread::spawn({
        let home = TempDir::new().expect("a folder");
        move || publish(&home, port, READINGS)
    });
    eventually("the first rows", || database.rows() > 50);
    database.signal("STOP");
    thread::sleep(std::time::Duration::from_millis(500));
    storing.kill();
    database.signal("CONT");
    let storing = Storing::start(&home, port, &database, more);
    let load = publishing.join().expect("the load ends");
    assert!(matches!(load.code, Some(0 | 14)), "{}", load.stderr);
    eventually("every reading is a row", || distinct(&database) == READINGS);
    let [received, stored, refused, lost, held, resent, aside, redelivered] = storing.counts();
    assert_eq!((refused, lost, held, aside), (0, 0, 0, 0));
    assert_eq!(received, stored);
    assert!(redelivered > 0, "nothing was on its way");
    let twice = database.rows() - READINGS;
    assert!(twice <= resent + redelivered, "{twice} rows are there twice");
}

/// Between two runs the broker keeps what is published, unless the user wants it otherwise.
#[test]
#[ignore = "needs root and postgresql"]
fn what_is_published_between_two_runs_is_stored_by_the_second() {
    let home = TempDir::new().expect("a folder");
    let database = Database::from_store(Sql::Postgres, Login::Trust, false);
    let (_broker, port) = broker(&home);
    for (more, rows) in [("", 20), ("--clean --client-id clean", 20)] {
        Storing::start(&home, port, &database, more).counts();
        publish(&home, port, 20);
        let storing = Storing::start(&home, port, &database, more);
        eventually("the rows", || database.rows() == rows);
        assert_eq!(storing.counts()[4..], [0; 4], "{more}");
    }
    let mut command = wirecost(home.path());
    let urls = [format!("mqtt://127.0.0.1:{port}/sensors/%23"), database.url()];
    command.arg("store").args(urls).args(["--mqtt", "4"]);
    assert_eq!(said(&mut command).code, Some(2));
}
