//! What a server may see, whose it is, and what becomes of one that does not start, in shells that take its place.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use wirecost_live::process::user::ServerUser;
use wirecost_live::process::{Launch, Readiness, ServerProcess};
use wirecost_live::{EnvironmentError, Topology};

use super::{PATIENCE, create, server_folder};

pub(crate) fn shell(folder: &Path, script: &str) -> Launch {
    Launch {
        program: "/bin/sh".into(),
        arguments: vec!["-c".into(), script.into()],
        environment: vec![
            ("PATH".into(), "/usr/bin:/bin".into()),
            ("GREETING".into(), "hello".into()),
        ],
        log: folder.join("log"),
    }
}

pub(crate) fn dies_early() -> Result<(), String> {
    let (folder, topology) = (tempfile::tempdir().unwrap(), create()?);
    let launch = shell(folder.path(), "echo port taken >&2; exit 3");
    let mut server = ServerProcess::start(&launch, &topology.server).unwrap();
    let error = server
        .wait_until_ready(PATIENCE, || Readiness::NotYet)
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "sh ended with exit status: 3 before it was ready, its last words: port taken"
    );
    Ok(())
}

pub(crate) fn never_ready() -> Result<(), String> {
    let (folder, topology) = (tempfile::tempdir().unwrap(), create()?);
    let launch = shell(folder.path(), "sleep 1000; true");
    let mut server = ServerProcess::start(&launch, &topology.server).unwrap();
    let error = server
        .wait_until_ready(Duration::from_millis(50), || Readiness::NotYet)
        .unwrap_err();
    assert!(
        matches!(error, EnvironmentError::ServerNotReady { .. }),
        "{error}"
    );
    let pid = server.pid();
    drop(server);
    assert!(!Path::new(&format!("/proc/{pid}")).exists());
    Ok(())
}

pub(crate) fn cannot_run() -> Result<(), String> {
    let (folder, topology) = (tempfile::tempdir().unwrap(), create()?);
    let launch = Launch {
        program: "/no/such/program".into(),
        ..shell(folder.path(), "")
    };
    let error = ServerProcess::start(&launch, &topology.server).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot start /no/such/program (execve: ENOENT)"
    );
    Ok(())
}

pub(crate) fn family() -> Result<(), String> {
    let (folder, topology) = (tempfile::tempdir().unwrap(), create()?);
    let launch = shell(
        folder.path(),
        "(trap '' TERM; sleep 1000; true) & echo started; wait",
    );
    let mut server = ServerProcess::start(&launch, &topology.server).unwrap();
    let mut processes = 0;
    let started = |_: &mut usize| fs::read_to_string(&launch.log).is_ok_and(|log| log.contains("started"));
    let deadline = Instant::now() + PATIENCE;
    while !(started(&mut processes) && processes == 3) {
        assert!(Instant::now() < deadline, "{processes} processes, expected 3");
        processes = server.usage().unwrap().processes;
    }
    assert!(server.exit_status().is_none());
    let namespace = fs::read_link(format!("/proc/{}/ns/pid", server.pid())).unwrap();
    // The shell is not the first process of its namespace, which would ignore SIGTERM.
    assert_eq!(server.stop(PATIENCE).unwrap().signal(), Some(libc::SIGTERM));
    assert_eq!(members(&namespace), Vec::<String>::new());
    Ok(())
}

pub(crate) fn members(namespace: &Path) -> Vec<String> {
    let entries = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().into_string().ok());
    let is_member =
        |pid: &String| fs::read_link(format!("/proc/{pid}/ns/pid")).is_ok_and(|link| link == namespace);
    entries.filter(is_member).collect()
}

/// The output of a server that has ended by itself.
fn said_in_all(launch: &Launch, side: &wirecost_live::topology::Side) -> String {
    let mut server = ServerProcess::start(launch, side).unwrap();
    let deadline = Instant::now() + PATIENCE;
    while server.exit_status().is_none() {
        assert!(Instant::now() < deadline);
        std::thread::yield_now();
    }
    fs::read_to_string(&launch.log).unwrap()
}

pub(crate) fn clean_slate() -> Result<(), String> {
    let (folder, topology) = (tempfile::tempdir().unwrap(), create()?);
    let script = "env | grep -v ^PWD | grep -v ^_= | sort; ls /proc/self/fd | wc -l; cat /proc/net/dev; \
                  grep -E '^Sig(Blk|Ign)' /proc/self/status";
    let launch = shell(folder.path(), script);
    let log = said_in_all(&launch, &topology.server);
    let lines: Vec<&str> = log.lines().collect();
    // Standard input, output and error, and the descriptor with which ls reads.
    assert_eq!(lines[..3], ["GREETING=hello", "PATH=/usr/bin:/bin", "4"], "{log}");
    assert!(log.contains("wirecost0:"), "{log}");
    // This program ignores SIGPIPE. Signals from 32 on belong to libc and cannot be set.
    for line in lines.iter().filter_map(|line| line.strip_prefix("Sig")) {
        let set = u64::from_str_radix(line.split_whitespace().last().unwrap(), 16).unwrap();
        assert_eq!(set & 0x7fff_ffff, 0, "{log}");
    }
    Ok(())
}

/// What a server that runs a script in its own folder, below `home`, has said before it ends.
fn said_apart(home: &Path, topology: &Topology, script: &str) -> (String, ServerUser) {
    let folder = server_folder(home, "server");
    let launch = Launch {
        log: folder.log(),
        ..shell(home, script)
    };
    let mut server = ServerProcess::start_apart(&launch, &topology.server, &folder).unwrap();
    let deadline = Instant::now() + PATIENCE;
    while server.exit_status().is_none() {
        assert!(Instant::now() < deadline);
        std::thread::yield_now();
    }
    (fs::read_to_string(&launch.log).unwrap(), folder.user())
}

/// What the server says of itself. Its first line is its IPC namespace.
const SELF: &str = "readlink /proc/self/ns/ipc; pwd; id -u; id -g; id -un; umask; grep -E '^(Cap(Eff|Prm|Amb)|Groups|NoNewPrivs)' /proc/self/status; \
                    touch mine && ls -ld . | cut -c1-10";
/// Apache opens its standard error anew. Later output would be written over this.
const AGAIN: &str = "echo again >>/dev/stderr";

/// Shared memory of an IPC namespace goes with its last process.
fn shares_no_memory(namespace: &str) {
    let ours = fs::read_link("/proc/self/ns/ipc").unwrap();
    assert!(
        namespace.starts_with("ipc:[") && ours != Path::new(namespace),
        "{namespace}"
    );
}

pub(crate) fn is_another_user() -> Result<(), String> {
    let topology = create()?;
    let closed = tempfile::tempdir().unwrap();
    let open = tempfile::tempdir().unwrap();
    for (home, mode) in [(&closed, 0o700), (&open, 0o755)] {
        fs::set_permissions(home.path(), fs::Permissions::from_mode(mode)).unwrap();
    }
    for (home, place) in [
        (closed.path(), "/mnt".into()),
        (open.path(), open.path().join("server.d")),
    ] {
        let script = format!(
            "{SELF}; cat /etc/shadow; touch {0}/theirs /etc/theirs; ls {0}; {AGAIN}",
            home.display()
        );
        let (said, user) = said_apart(home, &topology, &script);
        let ServerUser::Own(number) = user else {
            panic!("{user:?}");
        };
        assert!(number > 60_000, "{number}");
        let lines: Vec<&str> = said.lines().collect();
        shares_no_memory(lines[0]);
        let number = number.to_string();
        let whom = [place.to_str().unwrap(), &number, &number, "wirecost", "0077"];
        assert_eq!(lines[1..6], whom, "{said}");
        for line in ["CapEff:", "CapPrm:", "CapAmb:"] {
            let line = format!("{line}\t0000000000000000");
            assert!(lines.contains(&line.as_str()), "{said}");
        }
        for line in ["Groups:\t ", "NoNewPrivs:\t1", "drwx------", "again"] {
            assert!(lines.contains(&line), "{line}: {said}");
        }
        assert!(said.contains("/etc/shadow: Permission denied"), "{said}");
        assert!(!home.join("theirs").exists() && !Path::new("/etc/theirs").exists());
        // Afterwards what is left is the caller's.
        let log = fs::metadata(home.join("server.log")).unwrap();
        assert_eq!(
            (log.uid(), log.mode() & 0o777),
            (fs::metadata(home).unwrap().uid(), 0o600)
        );
        assert!(!home.join("server.d").exists());
    }
    Ok(())
}

pub(crate) fn is_nobody() -> Result<(), String> {
    let (home, topology) = (tempfile::tempdir().unwrap(), create()?);
    let (said, user) = said_apart(home.path(), &topology, &format!("{SELF}; {AGAIN}"));
    assert!(matches!(user, ServerUser::Nested { .. }), "{user:?}");
    let lines: Vec<&str> = said.lines().collect();
    shares_no_memory(lines[0]);
    let place = home.path().join("server.d");
    let whom = [place.to_str().unwrap(), "65534", "65534", "nobody", "0077"];
    assert_eq!(lines[1..6], whom, "{said}");
    for line in [
        "CapEff:\t0000000000000000",
        "NoNewPrivs:\t1",
        "drwx------",
        "again",
    ] {
        assert!(lines.contains(&line), "{line}: {said}");
    }
    Ok(())
}

/// The numbers in /proc match the server's view of itself.
pub(crate) fn own_processes() -> Result<(), String> {
    let (folder, topology) = (tempfile::tempdir().unwrap(), create()?);
    let script =
        "read -r me rest </proc/self/stat; [ $me = $$ ] && cat /proc/1/comm; ls /proc | grep -c '^[0-9]'";
    let launch = shell(folder.path(), script);
    // The first process, the shell, ls and grep.
    assert_eq!(said_in_all(&launch, &topology.server), "wirecost-init\n4\n");
    Ok(())
}
