//! Secrets: where they are taken from, who is given them, and which files hold them.

mod common;
mod peers;

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::{WIRECOST, children, ended, eventually, need_program, need_root, open_folder, said, wirecost};
use peers::{Server, own_port};
use tempfile::TempDir;

const PASSWORD: &str = "s3cret-word";
const VARIABLE: &str = "WIRECOST_PASSWORD";

#[test]
fn a_password_can_come_from_every_documented_source() {
    let server = broker(&["--user", "@user.txt"], None);
    let home = folder();
    let probe = |arguments: &[&str], variable: Option<&str>, input: &str| {
        let mut command = wirecost(home.path());
        command
            .arg("probe")
            .arg(format!("mqtt://127.0.0.1:{}/test", server.port));
        command
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        variable.map(|value| command.env(VARIABLE, value));
        let mut child = command.spawn().expect("a probe");
        let mut pipe = child.stdin.take().expect("a pipe");
        pipe.write_all(input.as_bytes()).expect("written");
        drop(pipe);
        ended(child)
    };
    let ways: [(&[&str], Option<&str>, &str); 4] = [
        (&["--user", "me", "--password-file", "password.txt"], None, ""),
        (&["--user", "me"], Some(PASSWORD), ""),
        (
            &["--user", "me", "--password", "-"],
            Some("other"),
            "s3cret-word\r\nmore",
        ),
        (&["--user", "me", "--password", PASSWORD], Some("other"), ""),
    ];
    for (arguments, variable, input) in ways {
        let said = probe(arguments, variable, input);
        assert_eq!(said.code, Some(0), "{arguments:?}: {}", said.stderr);
    }
    assert_eq!(probe(&["--user", "me"], Some("other"), "").code, Some(12));
    let of_nobody = probe(&["--password-file", "password.txt"], None, "");
    assert!(
        of_nobody.code == Some(2) && of_nobody.stderr.contains("without a user"),
        "{}",
        of_nobody.stderr
    );
    let nowhere = probe(&["--user", "me", "--password-file", "nowhere"], None, "");
    assert!(nowhere.code == Some(2) && nowhere.stderr.contains("cannot read --password-file nowhere"));
}

#[test]
fn the_password_of_a_user_in_a_url_may_be_elsewhere() {
    let server = broker(&["--user", "me:s3cret-word"], None);
    let home = folder();
    let url = |login: &str| format!("mqtt://{login}127.0.0.1:{}/test", server.port);
    let probe = |login: &str| {
        said(
            wirecost(home.path())
                .arg("probe")
                .arg(url(login))
                .env(VARIABLE, PASSWORD),
        )
    };
    assert_eq!(probe("me@").code, Some(0));
    assert_eq!(probe("me:s3cret-word@").code, Some(0));
    assert_eq!(probe("me:other@").code, Some(12));
    assert_eq!(probe("").code, Some(12));
}

#[test]
fn a_server_takes_passwords_from_the_environment() {
    let server = broker(&["--user", "me", "--user", "you:other"], Some(PASSWORD));
    let login = |user: &str, password: &str| {
        let mut command = wirecost(Path::new("/"));
        let url = format!("mqtt://{user}:{password}@127.0.0.1:{}/test", server.port);
        said(command.arg("probe").arg(url)).code
    };
    assert_eq!(login("me", PASSWORD), Some(0));
    assert_eq!(login("you", "other"), Some(0));
    assert_eq!(login("me", "other"), Some(12));
}

#[test]
#[ignore = "needs python3"]
fn a_password_that_is_typed_is_not_shown() {
    need_program("python3", "python3");
    let server = broker(&["--user", "@user.txt"], None);
    let home = folder();
    let url = format!("mqtt://127.0.0.1:{}/test", server.port);
    let typed = typed(
        home.path(),
        &["probe", &url, "--user", "me", "--password", "-"],
        "s3cret-word\\n",
    );
    assert_eq!(typed.code, Some(0), "{}", typed.stdout);
    assert!(
        typed.stdout.contains("Password of me: ") && !typed.stdout.contains(PASSWORD),
        "{}",
        typed.stdout
    );
    let interrupted = self::typed(
        home.path(),
        &["probe", &url, "--user", "me", "--password", "-"],
        "s3c\\x03",
    );
    assert_eq!(interrupted.code, Some(130), "{}", interrupted.stdout);
}

#[test]
#[ignore = "needs root and mosquitto-clients"]
fn files_of_link_are_private_and_contain_no_password() {
    need_root();
    need_program("mosquitto_pub", "mosquitto-clients");
    let home = folder();
    let script = "env > {folder}/../environment; mosquitto_pub -h {server} -t t -m m -u me -P s3cret-word -d; \
                  : mqtt://me:s3cret-url@host/t; exit 0";
    let mut command = wirecost(home.path());
    command.args([
        "link",
        "-q",
        "--settle",
        "300ms",
        "--no-keys",
        "--out",
        "run",
        "--json",
        "link-copy.json",
    ]);
    command.args([
        "--server",
        "sh -c 'env > {folder}/../environment-of-server; exec mosquitto -c m.conf'",
    ]);
    command.args(["--", "sh", "-c", script, "mqtt://me:s3cret-url@host/t"]);
    let said = said(command.env(VARIABLE, "of-ours").env("KEPT", "kept"));
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let files = files_below(&home.path().join("run"));
    assert!(files.len() >= 4, "{files:?}");
    for file in files.iter().chain([&home.path().join("link-copy.json")]) {
        let mode = file.metadata().expect("a file").permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{}", file.display());
    }
    for name in ["environment", "environment-of-server"] {
        let environment = std::fs::read_to_string(home.path().join(name)).expect(name);
        assert!(
            environment.contains("KEPT=kept") && !environment.contains("of-ours"),
            "{environment}"
        );
    }
    let json = std::fs::read_to_string(home.path().join("run/link.json")).expect("link.json");
    assert!(json.contains("\"mqtt://me:***@host/t\""), "{json}");
}

#[test]
fn no_file_of_a_load_holds_the_password_that_it_was_given() {
    let server = broker(&["--user", "@user.txt"], None);
    let home = folder();
    let url = format!("mqtt://127.0.0.1:{}/test", server.port);
    let words = [
        "-c",
        "2",
        "-r",
        "20/s",
        "-d",
        "1s",
        "--quiet",
        "--user",
        "me",
        "--password",
        PASSWORD,
        "--out",
        "run",
    ];
    let said = said(wirecost(home.path()).args(["load", &url]).args(words));
    assert!(matches!(said.code, Some(0 | 14)), "{}", said.stderr);
    for file in files_below(&home.path().join("run")) {
        let bytes = std::fs::read(&file).expect("a file");
        let holds = bytes
            .windows(PASSWORD.len())
            .any(|window| window == PASSWORD.as_bytes());
        assert!(!holds, "{}", file.display());
    }
}

#[test]
fn processes_of_ours_are_not_given_the_password() {
    let home = folder();
    let words = "load mqtt-qos1 -c 4 -r 20/s -d 20s --quiet --processes 2 --out run";
    let mut command = wirecost(home.path());
    command.args(words.split(' ')).env(VARIABLE, PASSWORD);
    let mut load = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("a load");
    eventually("target and workers run", || {
        children(load.id(), "load-").len() >= 2
    });
    for pid in children(load.id(), "load-") {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).expect("its environment");
        let text = String::from_utf8_lossy(&environment);
        assert!(!text.contains(PASSWORD) && text.contains("PATH="), "{text}");
    }
    load.kill().expect("it ends");
    load.wait().expect("it has ended");
}

/// A folder with a user and a password in files, and the configuration of a broker.
fn folder() -> TempDir {
    let folder = open_folder();
    let files = [
        ("user.txt", "me:s3cret-word\n"),
        ("password.txt", "s3cret-word\nsomething else\n"),
        ("m.conf", "listener 1883\nallow_anonymous true\nuser root\n"),
    ];
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).expect("a file");
    }
    folder
}

fn broker(options: &[&str], variable: Option<&str>) -> Server {
    let (folder, port) = (folder(), own_port());
    let mut command = Command::new(WIRECOST);
    command
        .current_dir(folder.path())
        .args(["serve", "mqtt"])
        .args(options);
    command
        .args(["--listen", &format!("127.0.0.1:{port}")])
        .env_remove(VARIABLE);
    variable.map(|value| command.env(VARIABLE, value));
    let server = Server::start_in(folder, command, port);
    server.wait(|server| server.log().contains("serving"));
    server
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder").flatten();
    let below = entries.flat_map(|entry| match entry.path() {
        path if path.is_dir() => files_below(&path),
        path => vec![path],
    });
    below.collect()
}

/// Runs wirecost at a terminal of its own, on which `text` is typed once it has asked.
fn typed(home: &Path, words: &[&str], text: &str) -> common::Said {
    let typist = "import os, pty, sys\n\
                  pid, terminal = pty.fork()\n\
                  if pid == 0: os.execv(sys.argv[2], sys.argv[2:])\n\
                  said = b''\n\
                  try:\n\
                  \x20   while b': ' not in said: said += os.read(terminal, 1000)\n\
                  \x20   import time; time.sleep(0.3)\n\
                  \x20   os.write(terminal, sys.argv[1].encode().decode('unicode_escape').encode())\n\
                  \x20   while True: said += os.read(terminal, 1000)\n\
                  except OSError: pass\n\
                  sys.stdout.write(said.decode())\n\
                  sys.stdout.flush()\n\
                  sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n";
    let mut python = Command::new("python3");
    python
        .current_dir(home)
        .args(["-c", typist, text, WIRECOST])
        .args(words);
    said(python.env_remove(VARIABLE))
}
