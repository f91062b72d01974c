//! Apache that inserts a reading before it answers.

use crate::common::need_program;
use crate::{COUNT_IN_MARIADB, published, rows_while_it_runs};

#[test]
#[ignore = "needs root, libapache2-mod-php, php-mysql, mariadb-server-core and mariadb-client-core"]
fn the_rows_of_apaches_database_are_the_acknowledged_messages() {
    let head = "stack: http1\ntarget: apache\nclients: 10\n\
                settings: {workers: 20, workers_ready: 20, store: mariadb}\n";
    need_program("apache2", "apache2-bin");
    need_program("mariadb", "mariadb-client-core");
    let (rows, said) = rows_while_it_runs(head, COUNT_IN_MARIADB);
    let publish = published(&said);
    assert_eq!(publish["outcomes"]["acknowledged"], 400, "{publish}");
    assert_eq!(rows, 400, "{}", said.stderr);
    let summary: serde_json::Value = serde_json::from_str(&said.stdout).expect("a summary");
    let settings = &summary["loads"][0]["settings"];
    for (name, value) in [("workers", 20), ("workers_ready", 20), ("store_connections", 36)] {
        assert_eq!(settings[name], value, "{settings}");
    }
    assert_eq!(settings["store"], "mariadb");
}

/// An answer without the insert would be fast: it is no answer.
#[test]
#[ignore = "needs root, libapache2-mod-php, php-mysql, mariadb-server-core and mariadb-client-core"]
fn what_apaches_database_refuses_is_refused() {
    let head = "stack: http1\ntarget: apache\nclients: 16\n\
                settings: {workers: 16, workers_ready: 16, store: mariadb, store_connections: 10}\n";
    need_program("apache2", "apache2-bin");
    need_program("mariadb", "mariadb-client-core");
    // An eleventh client is refused: the test cannot count rows meanwhile.
    let (_, said) = rows_while_it_runs(head, COUNT_IN_MARIADB);
    let outcomes = &published(&said)["outcomes"];
    let count = |name: &str| outcomes[name].as_u64().unwrap_or_default();
    assert!(count("refused") > 0, "{outcomes}");
    assert_eq!(count("acknowledged") + count("refused"), 400, "{outcomes}");
    let reasons = published(&said)["reasons"].to_string();
    assert!(reasons.contains("503"), "{reasons}");
}
