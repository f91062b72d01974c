//! Apache with PHP: prefork, so that each connection has a process of its own while it is open.

use super::folder::{Afterwards, ServerFolder};
use super::{Launch, Readiness, exchange, find, plain_environment, readiness};
use crate::error::EnvironmentError;
use crate::process::setup::Setup;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use wirecost_files::Input;
use wirecost_stack::target::setting::apache as names;
use wirecost_store::{TABLE, USER};

const PROGRAM: &str = "apache2";
const PACKAGE: &str = "apache2-bin libapache2-mod-php";
const DRIVER: &str = "php-mysql";
/// Where Debian has Apache's modules, and the extensions of each version of PHP.
const MODULES: &str = "/usr/lib/apache2/modules";
const EXTENSIONS: &str = "/usr/lib/php";
/// How long the server may take to become ready: it may have thousands of workers.
pub const PATIENCE: Duration = Duration::from_secs(60);
const PROBE_TIMEOUT: Duration = Duration::from_millis(500);
const REQUEST: &[u8] = b"HEAD / HTTP/1.1\r\nHost: ready\r\nConnection: close\r\n\r\n";
const ANSWER: &[u8; 12] = b"HTTP/1.1 204";

/// The file with its process id.
const PID_FILE: &str = "apache.pid";

/// The database into which the page inserts.
#[derive(Clone, Copy, Debug)]
pub struct Store<'a> {
    /// Where it listens.
    pub address: SocketAddr,
    /// The password of its user.
    pub password: &'a str,
}

/// How to start the server on `address`, with its configuration in `folder`. It answers a POST with 204 once it has read
/// it, and inserted it into the database `store` if there is one.
///
/// # Errors
/// [`EnvironmentError::ServerNotFound`] if a part is not installed, or `folder` cannot be written.
pub fn launch(
    folder: &mut ServerFolder,
    address: SocketAddr,
    store: Option<Store<'_>>,
    setup: &Setup,
) -> Result<Launch, EnvironmentError> {
    let program = program()?;
    let text = configuration(folder.home(), address, &php()?, setup);
    let path = folder.write("apache.conf", &text, Afterwards::Kept)?;
    folder.write("php.ini", &php_configuration(store.is_some())?, Afterwards::Kept)?;
    // The page of a database has its password.
    let page_stays = match store {
        Some(_) => Afterwards::Removed,
        None => Afterwards::Kept,
    };
    folder.write("reading.php", &page(store), page_stays)?;
    let mut environment = plain_environment(folder.home());
    // No folder with more configuration of PHP.
    environment.push(("PHP_INI_SCAN_DIR".into(), String::new()));
    Ok(Launch {
        program,
        arguments: vec![
            "-f".into(),
            path.to_string_lossy().into_owned(),
            "-DFOREGROUND".into(),
        ],
        environment,
        log: folder.log(),
    })
}

/// The server's own program.
///
/// # Errors
/// As [`launch`].
fn program() -> Result<PathBuf, EnvironmentError> {
    find(PROGRAM, PACKAGE)
}

/// PHP as a module of Apache: the newest version.
fn php() -> Result<PathBuf, EnvironmentError> {
    let modules = fs::read_dir(MODULES).into_iter().flatten().flatten();
    let versions = modules.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let version = name.strip_prefix("libphp")?.strip_suffix(".so")?;
        let (major, minor) = version.split_once('.')?;
        // As numbers: as texts 8.9 is newer than 8.10.
        let version: (u32, u32) = (major.parse().ok()?, minor.parse().ok()?);
        Some((version, entry.path()))
    });
    let newest = versions.max().map(|(_, path)| path);
    newest.ok_or(EnvironmentError::ServerNotFound {
        program: "libphp",
        place: "in /usr/lib/apache2/modules",
        package: PACKAGE,
    })
}

/// Whether PHP has an extension. Debian has those of each interface of PHP in a folder of its own.
fn has_extension(file: &str) -> bool {
    let mut folders = fs::read_dir(EXTENSIONS).into_iter().flatten().flatten();
    folders.any(|entry| entry.path().join(file).is_file())
}

/// Prefork needs no more of Apache than who may see what (mod_authz_core), one page for all paths (mod_alias) and PHP. There is no
/// line per request, and no limit to the requests of a connection. `ServerTokens` is that of Debian.
fn configuration(folder: &Path, address: SocketAddr, php: &Path, setup: &Setup) -> String {
    let (workers, ready) = (setup.value(names::WORKERS), setup.value(names::WORKERS_READY));
    // As many more may wait as with Apache's own 5 and 10.
    let most_waiting = ready.parse().unwrap_or(5_u64) + 5;
    let keep_alive = setup.value(names::KEEP_ALIVE_TIMEOUT);
    let backlog = setup.value(names::LISTEN_BACKLOG);
    let (folder, php) = (folder.display(), php.display());
    format!(
        r#"ServerRoot "{folder}"
ServerName wirecost
ServerTokens OS
PidFile "{folder}/{PID_FILE}"
ErrorLog /dev/stderr
LogLevel warn
LoadModule mpm_prefork_module {MODULES}/mod_mpm_prefork.so
LoadModule authz_core_module {MODULES}/mod_authz_core.so
LoadModule alias_module {MODULES}/mod_alias.so
LoadModule php_module {php}
PHPIniDir "{folder}"
ListenBacklog {backlog}
Listen {address}
ServerLimit {workers}
MaxRequestWorkers {workers}
StartServers {ready}
MinSpareServers {ready}
MaxSpareServers {most_waiting}
MaxConnectionsPerChild 0
KeepAlive On
MaxKeepAliveRequests 0
KeepAliveTimeout {keep_alive}
AliasMatch ^ "{folder}/reading.php"
<Files "reading.php">
SetHandler application/x-httpd-php
</Files>
"#
    )
}

/// The compiler's cache, as Debian has it, and the driver of the database. A reading may have any size.
fn php_configuration(has_store: bool) -> Result<String, EnvironmentError> {
    if has_store && !has_extension("pdo_mysql.so") {
        return Err(EnvironmentError::ServerNotFound {
            program: "pdo_mysql",
            place: "in /usr/lib/php",
            package: DRIVER,
        });
    }
    let mut lines = vec![
        // Error texts in the answer would be bytes that are measured.
        "display_errors=0".to_owned(),
        "log_errors=1".to_owned(),
        // `X-Powered-By` would be in each answer; Debian's production file has it off too.
        "expose_php=0".to_owned(),
        // 0 is no limit. The default of 8 MB would refuse larger messages.
        "post_max_size=0".to_owned(),
        // -1 is no limit: a message is held in memory as a whole.
        "memory_limit=-1".to_owned(),
    ];
    if has_extension("opcache.so") {
        lines.push("zend_extension=opcache".to_owned());
    }
    if has_store {
        lines.extend(["pdo", "mysqlnd", "pdo_mysql"].map(|name| format!("extension={name}")));
    }
    Ok(lines.join("\n") + "\n")
}

/// What both pages begin with: the content of a POST, or the reading in the query of another request, percent-encoded, by the rules
/// of the built-in server. PHP's own `$_GET` takes what is not encoded as it should be, and the last of several.
const READING: &str = r"<?php
$query = $_SERVER['QUERY_STRING'] ?? '';
$reading = null;
if ($_SERVER['REQUEST_METHOD'] === 'POST') {
    $reading = file_get_contents('php://input');
} elseif ($query !== '') {
    if (preg_match_all('/(?:^|&)reading=([^&]*)/', $query, $found) !== 1
        || preg_match('/%(?![0-9A-Fa-f]{2})/', $found[1][0])) {
        http_response_code(400);
        exit;
    }
    $reading = rawurldecode($found[1][0]);
}
";

/// The page that takes readings. A worker keeps its connection to the database.
fn page(store: Option<Store<'_>>) -> String {
    let Some(store) = store else {
        return format!("{READING}http_response_code(204);\n");
    };
    let (host, port, password) = (store.address.ip(), store.address.port(), store.password);
    format!(
        r#"{READING}try {{
    $store = new PDO('mysql:host={host};port={port};dbname=test;charset=binary', '{USER}', '{password}',
        [PDO::ATTR_PERSISTENT => true]);
    if ($reading !== null) {{
        $insert = $store->prepare('INSERT INTO {TABLE} (sender, number, payload) VALUES (?, 0, ?)');
        $sender = $_SERVER['REMOTE_ADDR'] . ':' . $_SERVER['REMOTE_PORT'];
        $insert->execute([$sender, $reading]);
    }}
    http_response_code(204);
}} catch (PDOException $failure) {{
    error_log($failure->getMessage());
    http_response_code(503);
}}
"#
    )
}

/// Whether the server on `address` answers a request.
pub fn probe(address: SocketAddr) -> Readiness {
    let answer = exchange(address, PROBE_TIMEOUT, REQUEST).map(|(_, answer)| answer);
    readiness(answer, *ANSWER)
}

/// The installed versions, such as `2.4.71 with PHP 8.2.36`.
pub fn version() -> Option<String> {
    // The program has the field `Server`, and PHP's module the field that names it.
    let server = version_after(b"Apache/", &Input::Program.bytes(&program().ok()?).ok()?)?;
    let php = version_after(b"X-Powered-By: PHP/", &Input::Program.bytes(&php().ok()?).ok()?)?;
    Some(format!("{server} with PHP {php}"))
}

/// The version behind `name` in the contents of a program.
fn version_after(name: &[u8], program: &[u8]) -> Option<String> {
    let versions = program
        .windows(name.len())
        .enumerate()
        .filter(|(_, window)| *window == name);
    let mut versions = versions.filter_map(|(at, _)| {
        let rest = program.get(at + name.len()..)?.iter();
        let version = rest.take_while(|byte| byte.is_ascii_digit() || **byte == b'.');
        Some(version.map(|byte| char::from(*byte)).collect::<String>())
    });
    versions.find(|version| !version.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(settings: &[(&str, &str)]) -> String {
        let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let given = settings.iter().map(pair).collect();
        let setup = Setup {
            settings: wirecost_stack::target::Target::Apache.settings_with(&given),
            ..Setup::default()
        };
        let address = "[fd78::1]:80".parse().expect("an address");
        configuration(Path::new("/run"), address, Path::new("/libphp8.2.so"), &setup)
    }

    #[test]
    fn workers_that_are_not_set_are_those_of_apache() {
        let text = text_of(&[]);
        for line in [
            "Listen [fd78::1]:80",
            "ServerLimit 256",
            "MaxRequestWorkers 256",
            "StartServers 5",
            "MinSpareServers 5",
            "MaxSpareServers 10",
            "ListenBacklog 511",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}: {text}");
        }
    }

    #[test]
    fn a_pool_may_be_ready_and_idle_connections_may_end() {
        let text = text_of(&[
            ("workers", "40"),
            ("workers_ready", "40"),
            ("keep_alive_timeout", "5"),
        ]);
        for line in [
            "ServerLimit 40",
            "StartServers 40",
            "MaxSpareServers 45",
            "KeepAliveTimeout 5",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}: {text}");
        }
    }

    #[test]
    fn a_reading_is_answered_after_its_insert() {
        let store = Store {
            address: "127.78.0.1:3306".parse().expect("an address"),
            password: "made for the run",
        };
        let text = page(Some(store));
        assert!(text.contains("'wirecost', 'made for the run',"), "{text}");
        let (insert, answer) = (text.find("execute("), text.find("http_response_code(204)"));
        assert!(insert.is_some() && insert < answer, "{text}");
        assert!(!page(None).contains("PDO"));
    }

    #[test]
    fn a_version_is_that_of_the_program() {
        let module = b"\0PHP/\x01PHP/8.2.36\0more";
        assert_eq!(version_after(b"PHP/", module).as_deref(), Some("8.2.36"));
        assert_eq!(version_after(b"PHP/", b"PHP"), None);
    }
}
