//! Databases that the tests start by themselves, each from a copy of a folder that is made once.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;

use tempfile::TempDir;
use wirecost_security::certificate::{Authority, Usage};
use wirecost_store::{Column, mariadb, postgres};

use crate::common::processes::while_it_works;
use crate::common::{need_program, need_root, signal};
use crate::port::own_port;

/// The account under which PostgreSQL runs: it refuses to be root's.
const NOBODY: [&str; 4] = ["--reuid=65534", "--regid=65534", "--clear-groups", "--"];

/// The password of the user `wirecost`, where the server asks for one.
pub(crate) const PASSWORD: &str = "a password";

/// A database that the tests start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sql {
    Postgres,
    Mariadb,
}

impl Sql {
    fn create_table(self) -> String {
        match self {
            Self::Postgres => postgres::create_table(Column::Bytes),
            Self::Mariadb => mariadb::create_table(Column::Bytes),
        }
    }
}

/// How the server lets clients in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Login {
    Trust,
    Password,
}

/// A server with the database `readings`. Dropping it ends it.
pub(crate) struct Database {
    pub(crate) store: Sql,
    pub(crate) port: u16,
    folder: TempDir,
    /// Where its data is, if that is a disk of its own.
    _disk: Option<Disk>,
    /// A process in whose network namespace it is, if that is another than the test's.
    network: Option<u32>,
    server: Option<Child>,
}

/// A file system in memory. Dropping it removes it.
struct Disk(PathBuf);

impl Disk {
    fn mount(at: PathBuf) -> Self {
        fs::create_dir(&at).expect("a folder");
        let options = "size=100M,mode=700,uid=65534,gid=65534";
        let mut command = Command::new("mount");
        command.args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(&at);
        assert!(command.status().is_ok_and(|status| status.success()), "mount");
        Self(at)
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        drop(Command::new("umount").arg("--lazy").arg(&self.0).status());
    }
}

impl Database {
    /// A server with the table of readings, if it is asked for.
    pub(crate) fn from_store(store: Sql, login: Login, with_table: bool) -> Self {
        Self::made(store, login, with_table, false)
    }

    /// A PostgreSQL whose tables are on a disk of 100 MB. Its log of writes is elsewhere: a server that cannot write that one ends.
    pub(crate) fn on_small_disk() -> Self {
        Self::made(Sql::Postgres, Login::Trust, false, true)
    }

    /// A PostgreSQL for `localhost` that takes connections over TLS alone; the certificate of its authority in PEM.
    pub(crate) fn over_tls() -> (Self, String) {
        let mut database = Self::from_store(Sql::Postgres, Login::Password, false);
        database.kill();
        let authority = Authority::generate().expect("an authority");
        let identity = authority
            .issue(Usage::Server, &["localhost"])
            .expect("a certificate");
        let files = [
            ("server.crt", identity.certificates_to_pem()),
            ("server.key", identity.private_key_to_pem()),
        ];
        for (name, text) in files {
            let path = database.data().join(name);
            fs::write(&path, text.expect("PEM")).expect("a file");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("permissions");
            std::os::unix::fs::chown(&path, Some(65_534), Some(65_534)).expect("an owner");
        }
        let change = |name: &str, change: &dyn Fn(String) -> String| {
            let path = database.data().join(name);
            let text = fs::read_to_string(&path).expect("a file");
            fs::write(&path, change(text)).expect("a file");
        };
        change("postgresql.conf", &|text| text + "\nssl = on\n");
        change("pg_hba.conf", &|text| text.replace("\nhost ", "\nhostssl "));
        database.start();
        (database, authority.to_pem().expect("PEM"))
    }

    /// Moves the server into the network namespace of a process.
    pub(crate) fn move_to(&mut self, process: u32) {
        self.kill();
        self.network = Some(process);
        self.start();
        // The namespace lasts as long as the server.
        self.network = self.server.as_ref().map(Child::id);
    }

    /// A command in the network namespace of the server.
    pub(crate) fn beside_it(&self, command: Command) -> Command {
        let Some(process) = self.network else {
            return command;
        };
        let mut inside = Command::new("nsenter");
        inside.arg(format!("--net=/proc/{process}/ns/net")).arg("--");
        inside.arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => inside.env(name, value),
                None => inside.env_remove(name),
            };
        }
        if let Some(folder) = command.get_current_dir() {
            inside.current_dir(folder);
        }
        inside.stdin(Stdio::null());
        inside
    }

    /// Takes all the room of its small disk. Dropping the file that is returned gives it back.
    pub(crate) fn fill(&self) -> Ballast {
        let path = self.data().join("ballast");
        let mut file = fs::File::create(&path).expect("a file");
        while std::io::Write::write_all(&mut file, &[0; 4_096]).is_ok() {}
        Ballast(path)
    }

    fn made(store: Sql, login: Login, with_table: bool, has_disk: bool) -> Self {
        need_root();
        let folder = TempDir::new().expect("a folder");
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).expect("permissions");
        let mut database = Self {
            store,
            port: own_port(),
            _disk: has_disk.then(|| Disk::mount(folder.path().join("data"))),
            folder,
            network: None,
            server: None,
        };
        if has_disk {
            let log = database.folder.path().join("log");
            make_postgresql(&database.data(), login, Some(&log));
        } else {
            copy(&prepared(store, login), &database.data());
        }
        if store == Sql::Mariadb {
            fs::write(database.folder.path().join("first.sql"), first_statements(login)).expect("a file");
        }
        database.start();
        if with_table {
            database.sql(&store.create_table());
        }
        database
    }

    /// The URL of its database `readings`.
    pub(crate) fn url(&self) -> String {
        let scheme = match self.store {
            Sql::Postgres => "postgres",
            Sql::Mariadb => "mariadb",
        };
        format!("{scheme}://127.0.0.1:{}/readings", self.port)
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Starts the server, and waits until it answers.
    pub(crate) fn start(&mut self) {
        let (port, folder) = (self.port, self.folder.path().display());
        let command = match self.store {
            Sql::Postgres => {
                let mut command = postgres_program("postgres");
                command.arg("-D").arg(self.data()).args(["-p", &port.to_string()]);
                command.args([
                    "-c",
                    "listen_addresses=127.0.0.1",
                    "-c",
                    "unix_socket_directories=",
                ]);
                command
            }
            Sql::Mariadb => {
                let mut command = Command::new("mariadbd");
                command.args(["--no-defaults", "--user=root", "--bind-address=127.0.0.1"]);
                command.args([
                    format!("--datadir={folder}/data"),
                    format!("--socket={folder}/socket"),
                    format!("--init-file={folder}/first.sql"),
                    SMALL_LOG.to_owned(),
                    format!("--port={port}"),
                ]);
                command
            }
        };
        let mut command = self.beside_it(command);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        self.server = Some(child.expect("the server starts"));
        let server = self.server.as_ref().map_or(0, Child::id);
        while_it_works("the database answers", server, || {
            self.ask("readings", "SELECT 1").is_some()
        });
    }

    /// Sends a signal to the server's processes: SIGSTOP keeps its sockets and answers nothing.
    pub(crate) fn signal(&self, name: &str) {
        let Some(server) = &self.server else {
            return;
        };
        // A child may end meanwhile.
        let pid = server.id();
        let children = format!("kill -{name} {pid} $(ps -o pid= --ppid {pid})");
        drop(
            Command::new("sh")
                .args(["-c", &children])
                .stderr(Stdio::null())
                .status(),
        );
    }

    /// Kills the server, with everything that it has not written.
    pub(crate) fn kill(&mut self) {
        // On SIGQUIT, PostgreSQL's first process ends its children. After SIGKILL it could not.
        let name = match self.store {
            Sql::Postgres => "QUIT",
            Sql::Mariadb => "KILL",
        };
        if let Some(server) = &self.server {
            signal(server.id(), name);
        }
        self.signal("CONT");
        if let Some(mut server) = self.server.take() {
            server.wait().expect("the server ends");
        }
    }

    /// The answer to a statement in the database `readings`, its columns separated by `|`.
    pub(crate) fn sql(&self, statement: &str) -> String {
        self.ask("readings", statement)
            .unwrap_or_else(|| panic!("{:?}: {statement}", self.store))
    }

    fn ask(&self, database: &str, statement: &str) -> Option<String> {
        let port = self.port.to_string();
        let command = match self.store {
            Sql::Postgres => {
                let mut command = Command::new("psql");
                command
                    .env("PGPASSWORD", PASSWORD)
                    .args(["-X", "-A", "-t", "-h", "127.0.0.1"]);
                command.args(["-U", "wirecost", "-p", &port, "-d", database, "-c", statement]);
                command
            }
            Sql::Mariadb => {
                let mut command = Command::new("mariadb");
                // The root of a fresh server has no password.
                command.args([
                    "--no-defaults",
                    "-N",
                    "-B",
                    "-h",
                    "127.0.0.1",
                    "-u",
                    "root",
                    "-P",
                    &port,
                ]);
                command.args([database, "-e", statement]);
                command
            }
        };
        let output = self.beside_it(command).output();
        let output = output.expect("the database's own client starts");
        let text = String::from_utf8_lossy(&output.stdout).trim().replace('\t', "|");
        output.status.success().then_some(text)
    }

    /// The number of rows in the table.
    pub(crate) fn rows(&self) -> u64 {
        let answer = self.sql("SELECT count(*) FROM readings");
        answer.parse().expect("a number")
    }
}

/// A file that takes room.
pub(crate) struct Ballast(PathBuf);

impl Drop for Ballast {
    fn drop(&mut self) {
        drop(fs::remove_file(&self.0));
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if self.server.is_some() {
            self.kill();
        }
    }
}

/// MariaDB's log of writes has 96 MB unless it is told otherwise: more than everything else in a new folder.
const SMALL_LOG: &str = "--innodb-log-file-size=8M";

/// The data folder that a server of this kind begins with: made by this program when it first needs one.
fn prepared(store: Sql, login: Login) -> PathBuf {
    static MADE: Mutex<Vec<(Sql, Login)>> = Mutex::new(Vec::new());
    let folder = prepared_folders().join(std::process::id().to_string());
    let path = folder.join(format!("{store:?}-{login:?}"));
    // Whoever comes meanwhile waits for the same folder.
    let mut made = MADE.lock().expect("no folder failed to be made");
    if made.contains(&(store, login)) {
        return path;
    }
    if made.is_empty() {
        remove_abandoned();
    }
    fs::create_dir_all(&folder).expect("a folder");
    let work = TempDir::new().expect("a folder");
    fs::set_permissions(work.path(), fs::Permissions::from_mode(0o777)).expect("permissions");
    let data = work.path().join("data");
    match store {
        Sql::Postgres => make_postgresql(&data, login, None),
        Sql::Mariadb => make_mariadb(&data),
    }
    copy(&data, &path);
    made.push((store, login));
    path
}

fn prepared_folders() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("databases")
}

/// Removes the folders of programs that have ended.
fn remove_abandoned() {
    let Ok(entries) = fs::read_dir(prepared_folders()) else {
        return;
    };
    for entry in entries.flatten() {
        if !Path::new("/proc").join(entry.file_name()).exists() {
            drop(fs::remove_dir_all(entry.path()));
        }
    }
}

/// Copies a folder with its owners and permissions.
fn copy(from: &Path, to: &Path) {
    succeed(
        Command::new("cp")
            .arg("-a")
            .arg("--reflink=auto")
            .arg(from)
            .arg(to),
    );
}

/// Runs a command that says nothing unless it fails.
fn succeed(command: &mut Command) {
    let output = command.stdin(Stdio::null()).output().expect("the program starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
}

/// A folder of PostgreSQL with the database `readings`.
fn make_postgresql(data: &Path, login: Login, log: Option<&Path>) {
    need_program("psql", "postgresql-client");
    let mut secret = tempfile::NamedTempFile::new().expect("a file");
    secret.write_all(PASSWORD.as_bytes()).expect("a file");
    std::os::unix::fs::chown(secret.path(), Some(65_534), Some(65_534)).expect("an owner");
    let method = match login {
        Login::Trust => "trust",
        Login::Password => "scram-sha-256",
    };
    let mut command = postgres_program("initdb");
    command.args(["-U", "wirecost", "-E", "UTF8", "--locale=C", "-N", "-A", method]);
    command
        .arg("--pwfile")
        .arg(secret.path())
        .arg("-D")
        .arg(data)
        .args(log.map(|log| format!("--waldir={}", log.display())));
    succeed(&mut command);
    let mut command = postgres_program("postgres");
    command.args(["--single", "-D"]).arg(data).arg("postgres");
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("postgres starts");
    let mut statements = child.stdin.take().expect("a pipe");
    statements
        .write_all(b"CREATE DATABASE readings\n")
        .expect("postgres reads");
    drop(statements);
    let output = child.wait_with_output().expect("postgres ends");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "CREATE DATABASE: {said}");
}

fn make_mariadb(data: &Path) {
    need_program("mariadb", "mariadb-client-core");
    need_program("mariadbd", "mariadb-server-core");
    let mut command = Command::new("mariadb-install-db");
    command
        .args(["--no-defaults", "--user=root", "--skip-test-db", SMALL_LOG])
        .arg("--auth-root-authentication-method=normal")
        .arg(format!("--datadir={}", data.display()));
    succeed(&mut command);
}

/// What MariaDB executes whenever it starts.
fn first_statements(login: Login) -> String {
    let password = match login {
        Login::Trust => String::new(),
        Login::Password => format!(" IDENTIFIED BY '{PASSWORD}'"),
    };
    format!(
        "CREATE DATABASE IF NOT EXISTS readings;\nCREATE USER IF NOT EXISTS 'wirecost'@'%'{password};\n\
         GRANT ALL ON *.* TO 'wirecost'@'%';\n"
    )
}

/// A program of the newest PostgreSQL, run as nobody.
fn postgres_program(name: &str) -> Command {
    let versions = fs::read_dir("/usr/lib/postgresql").expect("the package postgresql");
    let paths = versions
        .flatten()
        .map(|entry| entry.path().join("bin").join(name));
    let newest: Option<PathBuf> = paths.filter(|path| path.is_file()).max();
    let mut command = Command::new("setpriv");
    command.args(NOBODY).arg(newest.expect("the package postgresql"));
    command.env("LC_ALL", "C").stdin(Stdio::null());
    command
}

#[test]
#[should_panic(expected = "has ended")]
fn a_server_that_has_ended_is_not_waited_for() {
    let mut child = Command::new("false").spawn().expect("false starts");
    let pid = child.id();
    child.wait().expect("a status");
    while_it_works("the server answers", pid, || false);
}

#[test]
fn a_server_that_works_is_waited_for() {
    let home = TempDir::new().expect("a folder");
    let script = "i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done; : >ready; exec sleep 60";
    let mut command = Command::new("sh");
    let mut child = command
        .args(["-c", script])
        .current_dir(home.path())
        .spawn()
        .expect("sh starts");
    while_it_works("it is ready", child.id(), || home.path().join("ready").exists());
    child.kill().expect("a signal");
    child.wait().expect("a status");
}
