//! What the user of devices may do in a database that wirecost starts: insert and read, from within its namespace.

use std::process::Command;

use super::common::processes::within;
use super::common::{Said, need_program, need_root, open_folder, wirecost};
use super::{ADDRESS, Running, another_user, nothing_can_be_done_to};

/// What a program has said in the network namespace of the server, where no other user gets.
fn said_within(running: &Running, words: &[&str]) -> Said {
    let pid = running.pids()[0];
    let mut command: Command = within(pid, words[0]);
    Said::from(
        command
            .args(&words[1..])
            .output()
            .expect("nsenter and the client start"),
    )
}

/// `COPY ... TO PROGRAM` is a shell for a superuser.
#[test]
#[ignore = "needs root and postgresql"]
fn no_user_makes_postgresql_write_a_file_of_root() {
    need_program("psql", "postgresql-client");
    let running = Running::load("postgres", "postgresql", "postgresql", 5432);
    let mine = running.home.path().join("mine");
    let attack = format!("COPY (SELECT 'mine') TO PROGRAM 'cat > {}'", mine.display());
    let psql = format!("psql -X -A -t -h {ADDRESS} -U wirecost -d test -c");
    let said = another_user(&format!("{psql} \"{attack}\""));
    assert!(said.stderr.contains("Connection refused"), "{said:?}");
    // Where root looks from, the devices' user may not either, and nobody else logs in.
    let words: Vec<&str> = psql.split(' ').collect();
    let said = said_within(&running, &[&words[..], &[&attack]].concat());
    assert!(said.stderr.contains("must be superuser"), "{said:?}");
    let said = said_within(
        &running,
        &[&words[..], &["SELECT count(*) >= 0 FROM readings"]].concat(),
    );
    assert_eq!(said.stdout.trim(), "t", "{said:?}");
    for (user, database) in [
        ("postgres", "postgres"),
        ("postgres", "test"),
        ("wirecost", "postgres"),
    ] {
        let said = said_within(
            &running,
            &[
                "psql", "-X", "-h", ADDRESS, "-U", user, "-d", database, "-c", "SELECT 1",
            ],
        );
        assert!(said.stderr.contains("no pg_hba.conf entry"), "{said:?}");
    }
    assert!(!mine.exists());
    running.end();
}

/// `INTO OUTFILE` writes files, and an administrator without a password would do anything.
#[test]
#[ignore = "needs root, mariadb-server-core and mariadb-client-core"]
fn no_user_makes_mariadb_write_a_file_of_root() {
    need_program("mariadb", "mariadb-client-core");
    let running = Running::load("mariadb", "mariadb", "mariadb", 3306);
    let mine = running.home.path().join("mine");
    let attack = format!("SELECT 'mine' INTO OUTFILE '{}'", mine.display());
    let client = format!("mariadb --no-defaults -N -B -h {ADDRESS} -u");
    let said = another_user(&format!("{client} wirecost test -e \"{attack}\""));
    assert!(said.stderr.contains("Can't connect"), "{said:?}");
    let words: Vec<&str> = client.split(' ').collect();
    let as_user = |user: &str, statement: &str| {
        said_within(&running, &[&words[..], &[user, "test", "-e", statement]].concat())
    };
    assert!(as_user("wirecost", &attack).stderr.contains("Access denied"));
    assert!(
        as_user("wirecost", "DROP TABLE readings")
            .stderr
            .contains("denied")
    );
    assert_eq!(
        as_user("wirecost", "SELECT count(*) >= 0 FROM readings")
            .stdout
            .trim(),
        "1"
    );
    for user in ["root", "mysql", "anybody"] {
        let said = as_user(user, "SELECT 1");
        assert!(said.code != Some(0) && said.stderr.contains("denied"), "{said:?}");
    }
    assert!(!mine.exists());
    running.end();
}

#[test]
#[ignore = "needs root, libapache2-mod-php, php-mysql, mariadb-server-core and mariadb-client-core"]
fn the_database_beside_apache_has_a_password_of_the_run() {
    need_program("apache2", "apache2-bin");
    need_program("mariadb", "mariadb-client-core");
    need_root();
    let home = open_folder();
    let scenario = "wirecost: 1\nstack: http1\ntarget: apache\nclients: 2\nsettings: {store: mariadb}\n\
                    phases: [{do: publish, rate: 20/s, duration: 60s}]\n";
    std::fs::write(home.path().join("load.yaml"), scenario).expect("a scenario");
    let words = "run --quiet -o run load.yaml";
    let running = Running::start(wirecost(home.path()), home, words, ("apache", 80));
    nothing_can_be_done_to(&running, &[80, 3306]);
    let said = said_within(
        &running,
        &[
            "mariadb",
            "--no-defaults",
            "-h",
            ADDRESS,
            "-u",
            "wirecost",
            "test",
            "-e",
            "SELECT 1",
        ],
    );
    assert!(said.stderr.contains("Access denied"), "{said:?}");
    running.end();
}
