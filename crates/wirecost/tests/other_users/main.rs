//! Servers that wirecost starts, and what another user of this machine can do to them: nothing.

#[path = "../common/mod.rs"]
mod common;

mod databases;
mod link;

use std::collections::BTreeSet;
use std::fs;
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use common::processes::{started_by, users, while_it_works};
use common::{NOBODY, Said, as_nobody, ended, need_program, need_root, open_folder, wirecost};

/// The address of servers on the loopback interface of their namespace.
const ADDRESS: &str = "127.78.0.1";

/// A load of which each test sees a part.
const LOAD: &str = "load --quiet -c 2 -r 20/s -d 60s -o run";

/// A run with a server, while it goes on, in a folder that every user can read.
struct Running {
    home: TempDir,
    child: Child,
    /// The name of the server's files.
    name: &'static str,
}

impl Running {
    /// Starts a load of a server without a link. Returns when the server listens at `port`.
    fn load(stack: &str, target: &str, name: &'static str, port: u16) -> Self {
        need_root();
        let home = open_folder();
        let words = format!("{LOAD} --target {target} {stack}");
        Self::start(wirecost(home.path()), home, &words, (name, port))
    }

    /// The same by a command and its words.
    fn start(mut command: Command, home: TempDir, words: &str, (name, port): (&'static str, u16)) -> Self {
        command.args(words.split(' '));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let running = Self {
            child: command.spawn().expect("wirecost starts"),
            home,
            name,
        };
        let listens = |pid: &u32| listening(*pid).iter().any(|(_, found)| *found == port);
        while_it_works("the server listens", running.child.id(), || {
            started_by(running.child.id()).iter().any(listens) || running.has_ended()
        });
        running
    }

    fn has_ended(&self) -> bool {
        !Path::new(&format!("/proc/{}/exe", self.child.id())).exists()
    }

    /// The server's processes.
    fn pids(&self) -> Vec<u32> {
        let pids = started_by(self.child.id());
        assert!(!pids.is_empty(), "{} runs", self.name);
        pids
    }

    fn folder(&self) -> PathBuf {
        self.home.path().join(format!("run/{}.d", self.name))
    }

    /// Ends the run, which ended well.
    fn end(self) -> (TempDir, Said) {
        let kill = Command::new("kill")
            .args(["-INT", &self.child.id().to_string()])
            .status();
        assert!(kill.expect("kill").success());
        let said = ended(self.child);
        assert_eq!(said.code, Some(130), "{}", said.stderr);
        (self.home, said)
    }
}

/// The exit code and output of a shell of another user, who has no rights anywhere.
fn another_user(script: &str) -> Said {
    let mut shell = Command::new("/bin/bash");
    shell.args(["-c", script]).uid(NOBODY).gid(65_534);
    Said::from(shell.output().expect("a shell"))
}

/// Checks that no user but root can do anything to the server of a run.
fn nothing_can_be_done_to(running: &Running, ports: &[u16]) {
    let folder = running.folder();
    // Beside Apache there may be a database.
    let entries = fs::read_dir(running.home.path().join("run"))
        .expect("the results")
        .flatten();
    let folders: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|kind| kind == "d"))
        .collect();
    let owner_of = |folder: &PathBuf| fs::metadata(folder).expect("a server's folder").uid();
    let owners: BTreeSet<u32> = folders.iter().map(owner_of).collect();
    assert_eq!(owners.len(), folders.len(), "each server is another user");
    assert!(!owners.contains(&0) && !owners.contains(&NOBODY), "{owners:?}");
    folders
        .iter()
        .for_each(|folder| can_be_read_by(folder, owner_of(folder)));
    for pid in running.pids() {
        // A process that has ended meanwhile has no users.
        let users = users(pid);
        assert!(
            users.iter().all(|user| owners.contains(user)),
            "{users:?} {owners:?}"
        );
        is_alone(pid);
        for attempt in [
            format!("kill -0 {pid}"),
            format!("cat /proc/{pid}/environ"),
            format!("ls /proc/{pid}/root/"),
            format!("ls /proc/{pid}/cwd/"),
            format!("nsenter -t {pid} -n true"),
        ] {
            let said = another_user(&attempt);
            assert!(
                said.code != Some(0) && said.stdout.is_empty(),
                "{attempt}: {said:?}"
            );
        }
    }
    let (folder, log) = (
        folder.display(),
        format!("{}/run/{}.log", running.home.path().display(), running.name),
    );
    for attempt in [
        format!("ls {folder}"),
        format!("find {folder} -type f"),
        format!("touch {folder}/mine"),
        format!("cat {log}"),
    ] {
        let said = another_user(&attempt);
        assert!(said.code != Some(0), "{attempt}: {said:?}");
        assert!(said.stderr.contains("Permission denied"), "{attempt}: {said:?}");
    }
    ports.iter().for_each(|port| nothing_answers_at(ADDRESS, *port));
}

/// The network of a process is its own: there is the loopback interface, and what listens there listens at its addresses alone.
fn is_alone(pid: u32) {
    let network = |pid: &str| fs::read_link(format!("/proc/{pid}/ns/net")).ok();
    let Some(own) = network(&pid.to_string()) else {
        return;
    };
    assert_ne!(Some(own), network("self"), "its network is that of this machine");
    let interfaces = fs::read_to_string(format!("/proc/{pid}/net/dev")).unwrap_or_default();
    let names: Vec<&str> = interfaces
        .lines()
        .filter_map(|line| line.split_once(':'))
        .map(|(name, _)| name.trim())
        .collect();
    assert!(
        names.is_empty()
            || names
                .iter()
                .all(|name| ["lo", "tunl0", "sit0", "ip6tnl0"].contains(name)),
        "{names:?}"
    );
    for (address, port) in listening(pid) {
        // In memory order: 127.0.0.0/8, the same in IPv6, and ::1.
        let is_loopback = address.ends_with("7F") || address == "00000000000000000000000001000000";
        assert!(is_loopback, "something listens at {address}, port {port}");
    }
}

/// The addresses and ports at which something listens in the network of a process, as /proc/PID/net has them (proc(5)): TCP_LISTEN is 0A, and
/// a socket of UDP without a peer is 07.
fn listening(pid: u32) -> BTreeSet<(String, u16)> {
    let tables = [("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"), ("udp6", "07")];
    let of_table = |(table, state): (&str, &str)| -> Vec<(String, u16)> {
        let text = fs::read_to_string(format!("/proc/{pid}/net/{table}")).unwrap_or_default();
        let rows = text
            .lines()
            .skip(1)
            .map(|row| row.split_whitespace().collect::<Vec<_>>());
        // A socket of UDP with a port of the kernel's choice asks, and serves nobody.
        let serves = |port: &u16| table.starts_with("tcp") || *port < 32_768;
        let addresses = rows.filter(|row| row.get(3) == Some(&state)).filter_map(|row| {
            let (address, port) = row.get(1)?.split_once(':')?;
            let port = u16::from_str_radix(port, 16).ok().filter(serves)?;
            Some((address.to_owned(), port))
        });
        addresses.collect()
    };
    tables.into_iter().flat_map(of_table).collect()
}

/// Every file below `folder` can be read by its owner alone, because of its own mode or that of the folder.
fn can_be_read_by(folder: &Path, owner: u32) {
    let found = fs::metadata(folder).expect("the server's folder");
    assert_eq!((found.uid(), found.mode() & 0o777), (owner, 0o700));
    for entry in fs::read_dir(folder).expect("its files").flatten() {
        let name = entry.file_name().into_string().expect("a name");
        let Ok(found) = entry.metadata() else { continue };
        assert_eq!(found.uid(), owner, "{name}");
        let mode = found.mode() & 0o777;
        match name.as_str() {
            // They have no secrets. The first stands in the place of /etc/passwd.
            "passwd" | "apache.pid" => assert_eq!(mode, 0o644),
            ".erlang.cookie" => assert_eq!(mode, 0o400),
            _ => assert_eq!(mode & 0o077, 0, "{name}: {mode:o}"),
        }
    }
}

/// Nothing of this machine's own network listens at an address.
fn nothing_answers_at(address: &str, port: u16) {
    let at = SocketAddr::new(address.parse::<IpAddr>().expect("an address"), port);
    let refused = TcpStream::connect_timeout(&at, Duration::from_secs(1));
    assert!(refused.is_err(), "a server answers at {at}");
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    socket.connect(at).expect("an address of loopback");
    socket.send(&[0x40, 0, 0x77, 0x63]).expect("a datagram leaves");
    socket
        .set_read_timeout(Some(Duration::from_secs(1)))
        .expect("a time");
    let answer = socket.recv(&mut [0; 64]);
    assert!(answer.is_err(), "a server answers at {at}");
}

/// Runs a load of a target, and looks at its server as another user. Afterwards what is left is root's.
fn a_target(stack: &str, target: &str, name: &'static str, ports: &[u16]) {
    let running = Running::load(stack, target, name, ports[0]);
    nothing_can_be_done_to(&running, ports);
    let folder = running.folder();
    let (_home, _said) = running.end();
    for path in [folder.clone(), folder.with_extension("log")] {
        let found = fs::metadata(&path);
        // PostgreSQL has no configuration that stays.
        assert!(
            found.is_ok_and(|found| found.uid() == 0 && found.mode() & 0o077 == 0) || name == "postgresql",
            "{path:?}"
        );
    }
    assert!(!folder.join("server.key").exists() && !folder.join(".erlang.cookie").exists());
}

#[test]
#[ignore = "needs root and mosquitto"]
fn another_user_cannot_reach_mosquitto() {
    need_program("mosquitto", "mosquitto");
    a_target("mqtt-qos1+tls1.3", "mosquitto", "mosquitto", &[1883, 8883]);
}

#[test]
#[ignore = "needs root and rabbitmq-server"]
fn another_user_cannot_reach_rabbitmq() {
    need_program("rabbitmq-server", "rabbitmq-server");
    // Its nodes find each other by 4369, and speak at 25672.
    a_target(
        "amqp-unsettled",
        "rabbitmq",
        "rabbitmq",
        &[1883, 5672, 4369, 25_672],
    );
}

#[test]
#[ignore = "needs root and caddy"]
fn another_user_cannot_reach_caddy() {
    need_program("caddy", "caddy");
    a_target("http1", "caddy", "caddy", &[80, 443, 2019]);
}

#[test]
#[ignore = "needs root and libapache2-mod-php"]
fn another_user_cannot_reach_apache() {
    need_program("apache2", "apache2-bin");
    a_target("http1", "apache", "apache", &[80]);
}

#[test]
#[ignore = "needs root and libcoap3-bin"]
fn another_user_cannot_reach_libcoap() {
    need_program("coap-server-openssl", "libcoap3-bin");
    a_target("coap-con+dtls1.2-psk", "libcoap", "libcoap", &[5683, 5684]);
}

#[test]
#[ignore = "needs root and libcoap3-bin"]
fn another_user_cannot_reach_libcoap_with_gnutls() {
    need_program("coap-server-gnutls", "libcoap3-bin");
    a_target("coap-con+dtls1.2-psk", "libcoap-gnutls", "libcoap", &[5683, 5684]);
}

#[test]
#[ignore = "needs root and postgresql"]
fn another_user_cannot_reach_postgresql() {
    a_target("postgres", "postgresql", "postgresql", &[5432]);
}

#[test]
#[ignore = "needs root, mariadb-server-core and mariadb-client-core"]
fn another_user_cannot_reach_mariadb() {
    need_program("mariadbd", "mariadb-server-core");
    a_target("mariadb", "mariadb", "mariadb", &[3306]);
}

/// An ordinary user's server is that user, in a namespace of its own; nobody else reaches it either.
#[test]
#[ignore = "needs root and mosquitto"]
fn the_server_of_an_ordinary_user_is_that_user() {
    need_root();
    need_program("mosquitto", "mosquitto");
    let home = open_folder();
    let command = as_nobody(wirecost(home.path()), home.path());
    let words = format!("{LOAD} --target mosquitto mqtt-qos1");
    let running = Running::start(command, home, &words, ("mosquitto", 1883));
    for pid in running.pids() {
        assert!(users(pid).iter().all(|user| *user == NOBODY));
        is_alone(pid);
    }
    can_be_read_by(&running.folder(), NOBODY);
    nothing_answers_at(ADDRESS, 1883);
    running.end();
}

/// A key on a command line is everybody's.
#[test]
#[ignore = "needs root and libcoap3-bin"]
fn the_command_line_of_libcoap_has_no_key_that_opens_it() {
    need_program("coap-server-openssl", "libcoap3-bin");
    let running = Running::load("coap-con+dtls1.2-psk", "libcoap", "libcoap", 5683);
    let keys = fs::read_to_string(running.folder().join("keys")).expect("its keys");
    let key = keys.trim().rsplit(',').next().expect("a key").to_owned();
    assert_eq!(key.len(), 16);
    for pid in running.pids() {
        let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        assert!(line.contains("coap-server") && !line.contains(&key), "{line}");
    }
    running.end();
}
