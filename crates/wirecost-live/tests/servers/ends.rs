//! A server ends with the process that started it, however that ends.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use wirecost_live::Interrupt;
use wirecost_live::process::ServerProcess;

use super::shells::{members, shell};
use super::{PATIENCE, ROLE, create};

/// Runs a server in a copy of this program that is ended by `signal`, or panics if that is 0.
pub(crate) fn leaves_nothing(signal: i32) -> Result<(), String> {
    if std::env::var(ROLE).is_ok() {
        return be_the_victim(signal);
    }
    let mut victim = again()
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(victim.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let namespace = line.trim().strip_prefix("namespace ");
    if signal != 0 && namespace.is_some() {
        kill(&victim, signal);
    }
    victim.wait().unwrap();
    let namespace = namespace.ok_or(line.clone())?;
    let deadline = Instant::now() + PATIENCE;
    while !members(Path::new(namespace)).is_empty() {
        assert!(Instant::now() < deadline, "the server outlives us");
    }
    Ok(())
}

fn be_the_victim(signal: i32) -> Result<(), String> {
    let (folder, topology) = (tempfile::tempdir().unwrap(), create()?);
    // A change of user clears the parent-death signal (prctl(2)).
    let script = "trap '' TERM INT HUP; setpriv --reuid 65534 --clear-groups sleep 1000 & \
                  setsid sleep 1000 & wait; sleep 1000";
    let launch = shell(folder.path(), script);
    let server = ServerProcess::start(&launch, &topology.server).unwrap();
    println!(
        "namespace {}",
        fs::read_link(format!("/proc/{}/ns/pid", server.pid()))
            .unwrap()
            .display()
    );
    if signal == 0 {
        panic!("an error of ours");
    }
    std::thread::sleep(PATIENCE * 3);
    Ok(())
}

fn again() -> Command {
    // The user nobody may execute this program, but may not be able to search the folders above it: mktemp(1) makes
    // folders of mode 0700.
    let mut command = Command::new("/proc/self/exe");
    command.env(ROLE, "victim");
    command
}

fn kill(victim: &Child, signal: i32) {
    // SAFETY: takes no pointers; the victim is our child and has not been waited for.
    assert_eq!(unsafe { libc::kill(victim.id() as i32, signal) }, 0);
}

pub(crate) fn interrupted() -> Result<(), String> {
    if std::env::var(ROLE).is_ok() {
        let interrupt = Interrupt::install().unwrap();
        assert!(!interrupt.is_set());
        println!("ready");
        while !interrupt.is_set() {
            std::thread::yield_now();
        }
        let mut poll = mio::Poll::new().unwrap();
        let fd = std::os::fd::AsRawFd::as_raw_fd(&interrupt);
        let source = &mut mio::unix::SourceFd(&fd);
        poll.registry()
            .register(source, mio::Token(0), mio::Interest::READABLE)
            .unwrap();
        let mut events = mio::Events::with_capacity(1);
        poll.poll(&mut events, Some(PATIENCE)).unwrap();
        assert!(!events.is_empty());
        println!("asked");
        std::thread::sleep(PATIENCE * 3);
        return Ok(());
    }
    let mut victim = again().stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(victim.stdout.take().unwrap())
        .lines()
        .map(Result::unwrap);
    assert_eq!(lines.next().as_deref(), Some("ready"));
    kill(&victim, libc::SIGINT);
    assert_eq!(lines.next().as_deref(), Some("asked"));
    kill(&victim, libc::SIGTERM);
    assert_eq!(victim.wait().unwrap().code(), Some(130));
    Ok(())
}
