//! The command of `link --server`: it is the user's own, runs as the user who called, and nobody else reaches it.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::process::{Child, Command, Stdio};

use super::common::processes::{started_by, users};
use super::common::{NOBODY, as_nobody, ended, eventually, need_root, open_folder, wirecost};
use super::{another_user, nothing_answers_at};

const SERVER: &str = "python3 -m http.server 8000 --bind 10.78.0.1";

fn link(mut command: Command) -> Child {
    command.args([
        "link", "--out", "run", "--settle", "100ms", "--server", SERVER, "--port", "8000",
    ]);
    command.args(["--", "sh", "-c", "touch begun; sleep 4"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("wirecost starts")
}

#[test]
#[ignore = "needs root and python3"]
fn a_command_of_link_runs_as_the_caller_and_no_other_user_reaches_it() {
    need_root();
    for caller in [0, NOBODY] {
        let home = open_folder();
        let command = match caller {
            0 => wirecost(home.path()),
            _ => as_nobody(wirecost(home.path()), home.path()),
        };
        let child = link(command);
        eventually("the program has begun", || home.path().join("begun").exists());
        let of_server = |pid: &u32| {
            let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            line.contains("http.server")
        };
        let pids: Vec<u32> = started_by(child.id()).into_iter().filter(of_server).collect();
        assert!(!pids.is_empty());
        for pid in pids {
            assert!(users(pid).iter().all(|user| *user == caller), "{:?}", users(pid));
            if caller == 0 {
                assert_ne!(another_user(&format!("nsenter -t {pid} -n true")).code, Some(0));
            }
        }
        nothing_answers_at("127.0.0.1", 8000);
        let unreachable =
            another_user("exec 3<>/dev/tcp/10.78.0.1/8000 & sleep 1; kill %1 2>/dev/null || wait %1");
        assert!(!unreachable.stdout.contains("200"), "{unreachable:?}");
        let log = fs::metadata(home.path().join("run/server.log")).expect("its log");
        assert_eq!((log.uid(), log.mode() & 0o777), (caller, 0o600));
        let said = ended(child);
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        let line = said.line("note: ").unwrap_or_default().to_owned();
        assert_eq!(
            line.contains("--server runs as root"),
            caller == 0,
            "{}",
            said.stderr
        );
    }
}
