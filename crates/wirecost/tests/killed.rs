//! SIGKILL at any moment leaves no process and no resource behind.

#![allow(clippy::disallowed_macros, reason = "a test says what it does")]

mod common;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use common::{as_nobody, eventually, need_program, need_root, open_folder, signal, wirecost};
use tempfile::TempDir;

const SERVER: &str = "mosquitto -c {folder}/../mosquitto.conf";
/// The configuration with which Mosquitto, as root, changes its user.
const CONFIGURATION: &str = "listener 1883\nallow_anonymous true\nuser mosquitto\n";

#[test]
#[ignore = "needs root and mosquitto"]
fn a_server_that_changes_its_user_ends_with_us() {
    need_program("mosquitto", "mosquitto");
    let home = home();
    let words = [
        "link", "--settle", "300ms", "--out", "run", "--server", SERVER, "--", "sh", "-c",
    ];
    let mut command = wirecost(home.path());
    command.args(words).arg("touch {folder}/up; sleep 77");
    kill_when_up(&home, command);
}

#[test]
#[ignore = "needs root"]
fn children_of_the_program_end_with_wirecost() {
    let home = home();
    kill_when_up(&home, families(&home));
}

#[test]
#[ignore = "needs root"]
fn children_of_an_ordinary_users_program_end_with_wirecost() {
    let home = home();
    let command = families(&home);
    kill_when_up(&home, as_nobody(command, home.path()));
}

#[test]
#[ignore = "needs root and mosquitto"]
fn nothing_is_left_of_a_link_at_any_moment() {
    need_program("mosquitto", "mosquitto");
    at_random_moments(
        4,
        Duration::from_secs(2),
        &["link", "--server", SERVER, "--", "sh", "-c", "sleep 77; true"],
    );
}

#[test]
#[ignore = "needs root and mosquitto"]
fn nothing_is_left_of_mosquitto() {
    need_program("mosquitto", "mosquitto");
    target(3, Duration::from_secs(3), "mosquitto", "mqtt-qos1+tls1.3");
}

#[test]
#[ignore = "needs root and caddy"]
fn nothing_is_left_of_caddy() {
    need_program("caddy", "caddy");
    target(3, Duration::from_secs(3), "caddy", "http1");
}

#[test]
#[ignore = "needs root and libapache2-mod-php"]
fn nothing_is_left_of_apache() {
    need_program("apache2", "libapache2-mod-php");
    target(3, Duration::from_secs(3), "apache", "http1");
}

#[test]
#[ignore = "needs root and libcoap3-bin"]
fn nothing_is_left_of_libcoap() {
    need_program("coap-server-openssl", "libcoap3-bin");
    target(3, Duration::from_secs(3), "libcoap", "coap-con");
}

#[test]
#[ignore = "needs root and rabbitmq-server"]
fn nothing_is_left_of_rabbitmq() {
    need_program("rabbitmq-server", "rabbitmq-server");
    target(2, Duration::from_secs(9), "rabbitmq", "amqp-unsettled");
}

#[test]
#[ignore = "needs root"]
fn nothing_is_left_of_a_load() {
    let words = [
        "load",
        "mqtt-qos1",
        "-c",
        "20",
        "-r",
        "200/s",
        "-d",
        "30s",
        "--processes",
        "2",
        "--quiet",
    ];
    at_random_moments(3, Duration::from_secs(2), &words);
}

#[test]
#[ignore = "needs root and mosquitto"]
fn nothing_is_left_of_a_load_of_mosquitto_behind_a_link() {
    need_program("mosquitto", "mosquitto");
    let words = "load mqtt-qos1 --target mosquitto --rtt 20ms -c 5 -r 50/s -d 30s --quiet";
    at_random_moments(3, Duration::from_secs(3), &words.split(' ').collect::<Vec<_>>());
}

/// `wirecost compare` with a server of another maker.
fn target(times: u32, within: Duration, name: &str, stack: &str) {
    let words = [
        "compare", "--engine", "live", "-q", "-n", "60", "--target", name, stack,
    ];
    at_random_moments(times, within, &words);
}

/// A program whose children and grandchildren have their own sessions.
fn families(home: &TempDir) -> Command {
    let script =
        "setsid sh -c 'sleep 78; true' & (sleep 79 & setsid sleep 80 &) ; touch {folder}/up; sleep 81; true";
    let mut command = wirecost(home.path());
    command.args([
        "link", "--settle", "300ms", "--out", "run", "--", "sh", "-c", script,
    ]);
    command
}

fn home() -> TempDir {
    need_root();
    let home = open_folder();
    fs::write(home.path().join("mosquitto.conf"), CONFIGURATION).expect("a file");
    home
}

fn start(command: &mut Command, home: &Path) -> Child {
    let command = command.env(MARK, home).stdin(Stdio::null());
    let silent = command.stdout(Stdio::null()).stderr(Stdio::null());
    silent.spawn().expect("the program starts")
}

fn kill_when_up(home: &TempDir, mut command: Command) {
    let child = start(&mut command, home.path());
    eventually("the program runs", || home.path().join("run/up").exists());
    killed(child, home.path());
}

/// Kills the command `times` times, each time at another moment.
fn at_random_moments(times: u32, within: Duration, words: &[&str]) {
    for time in 0..times {
        let home = home();
        let mut command = wirecost(home.path());
        let out = words.iter().position(|word| *word == "--").unwrap_or(words.len());
        command
            .args(&words[..out])
            .args(["--out", "run"])
            .args(&words[out..]);
        let child = start(&mut command, home.path());
        let part = RandomState::new().build_hasher().finish() as f64 / u64::MAX as f64;
        let moment = within.mul_f64((f64::from(time) + part) / f64::from(times));
        thread::sleep(moment);
        println!("killed after {moment:?}");
        killed(child, home.path());
    }
}

/// The environment variable that identifies a run's processes by its folder.
const MARK: &str = "WIRECOST_TEST_FOLDER";

/// Kills a run, and waits until none of its processes is left.
fn killed(mut child: Child, home: &Path) {
    let ours = fs::read_link("/proc/self/ns/net").expect("a namespace");
    let pinned: Vec<File> = marked(home).into_iter().filter_map(network_held_open).collect();
    let namespaces: BTreeSet<PathBuf> = pinned.iter().filter_map(network_behind).collect();
    assert!(
        child.try_wait().is_ok_and(|ended| ended.is_none()),
        "it has ended by itself"
    );
    signal(child.id(), "KILL");
    child.wait().expect("it has ended");
    eventually("nothing is left of the run", || marked(home).is_empty());
    let left = processes().filter_map(network_of);
    let left: Vec<PathBuf> = left
        .filter(|found| *found != ours && namespaces.contains(found))
        .collect();
    assert_eq!(left, Vec::<PathBuf>::new());
}

/// The processes that name the folder in their environment or command line.
fn marked(home: &Path) -> Vec<u32> {
    let mark = home.as_os_str().as_encoded_bytes();
    let names = |pid: u32, file: &str| {
        let text = fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
        text.windows(mark.len()).any(|window| window == mark)
    };
    let is_marked = |pid: &u32| ["environ", "cmdline"].iter().any(|file| names(*pid, file));
    processes().filter(is_marked).collect()
}

fn processes() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").expect("/proc").flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// The network of a process, which stays while the file is open: the kernel gives the number of one that ended to the next one,
/// which may be that of another test's run.
fn network_held_open(pid: u32) -> Option<File> {
    File::open(format!("/proc/{pid}/ns/net")).ok()
}

fn network_behind(file: &File) -> Option<PathBuf> {
    fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()
}

fn network_of(pid: u32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/ns/net")).ok()
}
