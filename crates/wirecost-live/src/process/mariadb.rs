//! MariaDB, the database, with the table of readings in the database `test`.

use super::folder::{Afterwards, ServerFolder};
use super::{Launch, Readiness, exchange, find, plain_environment, readiness, version_of};
use crate::error::EnvironmentError;
use crate::process::setup::Setup;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use wirecost_store::mariadb::{PORT, create_table};
use wirecost_store::{Column, USER};

const PROGRAM: &str = "mariadbd";
const PACKAGE: &str = "mariadb-server-core mariadb-client-core";

/// How long the server may take to become ready: it makes its data folder first.
pub const PATIENCE: Duration = Duration::from_secs(90);
const PROBE_TIMEOUT: Duration = Duration::from_millis(500);

/// The folder of its data.
const DATA: &str = "data";

/// Makes the data folder, then becomes the server. Arguments: installer, server, data, address, port, statements,
/// connections, `innodb_flush_log_at_trx_commit`.
/// Its administrator logs in by the socket in the data folder alone, and as the system's user `root`, who cannot reach it: by no way. The
/// server changes to that folder: the path of a socket has at most 107 characters.
const SCRIPT: &str = r#"
"$1" --no-defaults --datadir="$3" --auth-root-authentication-method=socket --skip-test-db >/dev/null
exec "$2" --no-defaults --datadir="$3" --bind-address="$4" --port="$5" --init-file="$6" \
    --socket=socket --max-connections="$7" --innodb-flush-log-at-trx-commit="$8"
"#;

/// How to start the server on `address`, with its data in `folder`. With `password` its user has that one. Unless a load sets others, settings that cost time
/// are its defaults: every insert is on disk before its answer.
///
/// # Errors
/// [`EnvironmentError::ServerNotFound`] if it is not installed, or `folder` cannot be written.
pub fn launch(
    folder: &mut ServerFolder,
    address: SocketAddr,
    setup: &Setup,
    password: Option<&str>,
) -> Result<Launch, EnvironmentError> {
    let installer = find("mariadb-install-db", PACKAGE)?;
    // `mariadb-install-db` calls it, and says nothing helpful without it.
    find("my_print_defaults", PACKAGE)?;
    // The statements have the password in them.
    let stays = match password {
        Some(_) => Afterwards::Removed,
        None => Afterwards::Kept,
    };
    let statements = folder.write("mariadb.sql", &first_statements(password), stays)?;
    let text = |path: PathBuf| path.to_string_lossy().into_owned();
    let mut arguments: Vec<String> = ["-e", "-c", SCRIPT, "sh"].map(str::to_owned).into();
    arguments.extend([
        text(installer),
        text(program()?),
        text(folder.seen(DATA)),
        address.ip().to_string(),
        address.port().to_string(),
        text(statements),
        setup.value("max_connections").to_owned(),
        setup.value("innodb_flush_log_at_trx_commit").to_owned(),
    ]);
    Ok(Launch {
        program: "/bin/sh".into(),
        arguments,
        environment: plain_environment(folder.home()),
        log: folder.log(),
    })
}

/// What the server does before it listens: one statement for each line.
fn first_statements(password: Option<&str>) -> String {
    let identified = password.map(|password| format!(" IDENTIFIED BY '{password}'"));
    let identified = identified.unwrap_or_default();
    [
        "CREATE DATABASE IF NOT EXISTS test;".to_owned(),
        "USE test;".to_owned(),
        format!("{};", create_table(Column::Bytes)),
        format!("CREATE USER IF NOT EXISTS '{USER}'@'%'{identified};"),
        format!("GRANT SELECT, INSERT ON test.* TO '{USER}'@'%';\n"),
    ]
    .join("\n")
}

/// The server's own program, which the launch starts by a script.
///
/// # Errors
/// As [`launch`].
pub fn program() -> Result<PathBuf, EnvironmentError> {
    find(PROGRAM, PACKAGE)
}

/// The address of the server on `ip`.
pub const fn address(ip: std::net::IpAddr) -> SocketAddr {
    SocketAddr::new(ip, PORT)
}

/// Whether the server on `address` begins with a handshake of version 10. It listens after its first statements.
pub fn probe(address: SocketAddr) -> Readiness {
    let greeting = exchange::<5>(address, PROBE_TIMEOUT, b"");
    readiness(greeting.map(|(_, greeting)| [greeting[3], greeting[4]]), [0, 10])
}

/// The installed version, such as `10.11.19-MariaDB`.
pub fn version() -> Option<String> {
    version_of(&program().ok()?, "--version")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_statement_before_the_first_client_is_on_one_line() {
        let text = first_statements(Some("made for the run"));
        assert!(
            text.contains("'wirecost'@'%' IDENTIFIED BY 'made for the run';"),
            "{text}"
        );
        assert_eq!(
            text.lines().filter(|line| line.ends_with(';')).count(),
            text.lines().count()
        );
    }
}
