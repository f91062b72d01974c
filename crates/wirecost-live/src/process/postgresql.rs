//! PostgreSQL, the database, with the table of readings in the database `test`.

use super::folder::ServerFolder;
use super::{Launch, Readiness, exchange, plain_environment, readiness, version_of};
use crate::error::EnvironmentError;
use crate::process::setup::Setup;
use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use wirecost_store::postgres::{PORT, create_table};
use wirecost_store::{Column, USER};

/// Debian has each version's programs in a folder of its own, and none of the server's on PATH.
const VERSIONS: &str = "/usr/lib/postgresql";
const PROGRAM: &str = "postgres";
const PACKAGE: &str = "postgresql";

/// The database that wirecost makes. The clients of the stacks connect to it unless a URL names another.
const DATABASE: &str = "test";

/// How long the server may take to become ready: it makes its data folder first.
pub const PATIENCE: Duration = Duration::from_secs(60);
const PROBE_TIMEOUT: Duration = Duration::from_millis(500);

/// The first message of a client that logs in (PostgreSQL documentation, chapter 55.7): the user `wirecost`, the database `test`.
const STARTUP: &[u8] = b"\x00\x00\x00\x25\x00\x03\x00\x00user\0wirecost\0database\0test\0\0";
/// AuthenticationOk.
const LOGGED_IN: [u8; 9] = *b"R\x00\x00\x00\x08\x00\x00\x00\x00";

/// The folder of its data.
const DATA: &str = "data";

/// Makes the data folder and the table, then becomes the server. Arguments: programs, data, address, port, database, table,
/// user, connections, `fsync`, `synchronous_commit`.
/// The user that devices are may read and insert, and nothing else. `pg_hba.conf` lets in nobody but it, so that no administrator logs in
/// and no connection is kept for one.
const SCRIPT: &str = r#"
single() { "$1/postgres" --single -j -D "$2" "$3"; }
"$1/initdb" -D "$2" -U postgres -A reject -E UTF8 --locale=C -N --no-instructions
printf 'CREATE DATABASE %s;\n\nCREATE ROLE %s LOGIN;\n\n' "$5" "$7" | single "$1" "$2" postgres
printf '%s;\n\nGRANT SELECT, INSERT ON ALL TABLES IN SCHEMA public TO %s;\n\n' "$6" "$7" | single "$1" "$2" "$5"
echo "host $5 $7 all trust" >"$2/pg_hba.conf"
exec "$1/postgres" -D "$2" -c listen_addresses="$3" -p "$4" -c unix_socket_directories= -c max_connections="$8" -c superuser_reserved_connections=0 \
    -c fsync="$9" -c synchronous_commit="${10}" \
    -c dynamic_shared_memory_type=mmap -c log_checkpoints=off
"#;

/// How to start the server on `address`, with its data in `folder`. Unless a load sets others, settings that cost time are its defaults:
/// every insert is on disk before its answer.
///
/// # Errors
/// [`EnvironmentError::ServerNotFound`] if it is not installed.
pub fn launch(folder: &ServerFolder, address: SocketAddr, setup: &Setup) -> Result<Launch, EnvironmentError> {
    let programs = programs()?;
    let text = |path: PathBuf| path.to_string_lossy().into_owned();
    let mut arguments: Vec<String> = ["-e", "-c", SCRIPT, "sh"].map(str::to_owned).into();
    arguments.extend([
        text(programs),
        text(folder.seen(DATA)),
        address.ip().to_string(),
        address.port().to_string(),
        DATABASE.to_owned(),
        create_table(Column::Bytes),
        USER.to_owned(),
    ]);
    arguments
        .extend(["max_connections", "fsync", "synchronous_commit"].map(|name| setup.value(name).to_owned()));
    Ok(Launch {
        program: "/bin/sh".into(),
        arguments,
        environment: plain_environment(folder.home()),
        log: folder.log(),
    })
}

/// The server's own program, which the launch starts by others.
///
/// # Errors
/// As [`launch`].
pub fn program() -> Result<PathBuf, EnvironmentError> {
    Ok(programs()?.join(PROGRAM))
}

/// The folder with the programs of the newest version.
fn programs() -> Result<PathBuf, EnvironmentError> {
    let versions = fs::read_dir(VERSIONS).into_iter().flatten().flatten();
    let numbered = versions.filter_map(|entry| {
        let number: u32 = entry.file_name().to_str()?.parse().ok()?;
        let programs = entry.path().join("bin");
        programs.join(PROGRAM).is_file().then_some((number, programs))
    });
    let newest = numbered.max().map(|(_, programs)| programs);
    newest.ok_or(EnvironmentError::ServerNotFound {
        program: PROGRAM,
        place: "in /usr/lib/postgresql",
        package: PACKAGE,
    })
}

/// The address of the server on `ip`.
pub const fn address(ip: std::net::IpAddr) -> SocketAddr {
    SocketAddr::new(ip, PORT)
}

/// Whether the server on `address` accepts a login to the database.
pub fn probe(address: SocketAddr) -> Readiness {
    let answer = exchange(address, PROBE_TIMEOUT, STARTUP).map(|(_, answer)| answer);
    readiness(answer, LOGGED_IN)
}

/// The installed version, such as `15.18`.
pub fn version() -> Option<String> {
    version_of(&program().ok()?, "--version")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_probe_is_a_complete_login_to_the_database() {
        let words = [USER, DATABASE];
        assert_eq!(usize::from(STARTUP[3]), STARTUP.len());
        let text = String::from_utf8_lossy(STARTUP);
        assert!(words.iter().all(|word| text.contains(word)), "{text}");
    }
}
