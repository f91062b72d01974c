//! PostgreSQL, the database, with the table of readings in the database `test`.

use super::{Launch, Readiness, exchange, plain_environment, readiness, version_of};
use crate::error::EnvironmentError;
use crate::process::setup::Setup;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
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

/// The folder of its data below the run's folder.
pub const DATA: &str = "postgresql";

/// Makes the data folder and the table, then becomes the server. Arguments: programs, data, address, port, database, table,
/// user, connections, `fsync`, `synchronous_commit`.
const SCRIPT: &str = r#"
"$1/initdb" -D "$2" -U "$7" -A trust -E UTF8 --locale=C -N --no-instructions
echo "CREATE DATABASE $5" | "$1/postgres" --single -D "$2" postgres
echo "$6" | "$1/postgres" --single -D "$2" "$5"
cat >>"$2/pg_hba.conf" <<EOF
host all all all trust
EOF
exec "$1/postgres" -D "$2" -c listen_addresses="$3" -p "$4" -c unix_socket_directories= -c max_connections="$8" -c fsync="$9" -c synchronous_commit="${10}" \
    -c dynamic_shared_memory_type=mmap -c log_checkpoints=off
"#;

/// How to start the server on `address`, with its data and log in `folder`.
///
/// PostgreSQL refuses to run as root. wirecost starts it in a user namespace that maps the user of wirecost to `nobody`. Unless a load sets others, settings that cost time are its defaults: every insert is on disk before its answer.
///
/// # Errors
/// [`EnvironmentError::ServerNotFound`] if it is not installed.
pub fn launch(folder: &Path, address: SocketAddr, setup: &Setup) -> Result<Launch, EnvironmentError> {
    let programs = programs()?;
    let text = |path: PathBuf| path.to_string_lossy().into_owned();
    let mut arguments: Vec<String> = [
        "--user",
        "--ipc",
        "--map-user=65534",
        "--map-group=65534",
        "/bin/sh",
        "-e",
        "-c",
        SCRIPT,
        "sh",
    ]
    .map(str::to_owned)
    .into();
    arguments.extend([
        text(programs),
        text(folder.join(DATA)),
        address.ip().to_string(),
        address.port().to_string(),
        DATABASE.to_owned(),
        create_table(Column::Bytes),
        USER.to_owned(),
    ]);
    arguments
        .extend(["max_connections", "fsync", "synchronous_commit"].map(|name| setup.value(name).to_owned()));
    Ok(Launch {
        program: super::find("unshare", "util-linux")?,
        arguments,
        environment: plain_environment(folder),
        log: folder.join("postgresql.log"),
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
