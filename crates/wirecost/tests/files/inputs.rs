//! Every option and argument that takes a file, with files that are none.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::bounded::bounded;
use crate::common::{open_folder, said, wirecost};

/// A command line for each option and argument that reads a file: the file stands at `{}`. `cap`, `run` and `key` are a
/// capture, a results folder and a key.
const INPUTS: [(&str, &str); 83] = [
    (
        "compare --payload-file",
        "compare --engine sim -n 1 udp --payload-file {} -o o",
    ),
    (
        "compare --cacert",
        "compare -n 1 mqtt-qos0+tls --target mqtts://127.0.0.1:1 --cacert {} -o o",
    ),
    ("compare --link", "compare --engine sim -n 1 udp --link ./{} -o o"),
    (
        "compare --chain",
        "compare --engine sim -n 1 mqtt-qos1+tls1.3 --chain ./{} -o o",
    ),
    (
        "load --chain",
        "load mqtt-qos1+tls1.3 --engine sim -c 1 -n 1 --chain ./{} -o o",
    ),
    (
        "choose --chain",
        "choose mqtt-qos1+tls1.3 --size 16B --every 1h --chain ./{} -o o",
    ),
    (
        "what-if --chain",
        "what-if cap mqtt-qos1+tls1.3 --chain ./{} -o o",
    ),
    ("serve --chain", "serve mqtt --tls --chain ./{}"),
    ("compare --resume", "compare --engine sim -n 1 udp --resume {}"),
    ("run FILE", "run {}"),
    ("run --resume", "run good.yaml --resume {}"),
    ("link --link", "link --link ./{} -- true"),
    (
        "load --payload-file",
        "load udp://127.0.0.1:1 -c 1 -n 1 --payload-file {} -o o",
    ),
    (
        "load --password-file",
        "load mqtt://127.0.0.1:1 -c 1 -n 1 --user u --password-file {} -o o",
    ),
    (
        "load --cacert",
        "load mqtts://127.0.0.1:1 -c 1 -n 1 --cacert {} -o o",
    ),
    (
        "load --cert",
        "load mqtts://127.0.0.1:1 -c 1 -n 1 --insecure --key good.yaml --cert {} -o o",
    ),
    (
        "load --key",
        "load mqtts://127.0.0.1:1 -c 1 -n 1 --insecure --cert good.yaml --key {} -o o",
    ),
    (
        "load --credentials",
        "load mqtt://127.0.0.1:1 -c 1 -n 1 --credentials {} -o o",
    ),
    ("load --link", "load udp --engine sim -c 1 -n 1 --link ./{} -o o"),
    ("load --resume", "load udp --engine sim -c 1 -n 1 --resume {}"),
    ("nbiot --resume", "nbiot coap-con --resume {}"),
    ("nbiot --link", "nbiot coap-con --link ./{} -o o"),
    (
        "probe --password-file",
        "probe mqtt://127.0.0.1:1 --user u --password-file {}",
    ),
    ("probe --cacert", "probe mqtts://127.0.0.1:1 --cacert {}"),
    ("probe --cert", "probe mqtts://127.0.0.1:1 --cert {} --key {}"),
    ("probe --key", "probe mqtts://127.0.0.1:1 --cert {} --key {}"),
    ("pcap FILE", "pcap {}"),
    ("pcap --merge-hosts", "pcap cap --merge-hosts {}"),
    ("budget FILE", "budget {} -o o"),
    ("budget --against", "budget budget.yaml --against {} -o o"),
    ("budget --capture", "budget captured.yaml --capture {} -o o"),
    ("pcap --keylog", "pcap cap --keylog {}"),
    ("cost FILE", "cost {} --device nrf9160-lte-m"),
    ("cost FILE --check", "cost {} --check"),
    ("cost --device", "cost cap --device ./{}"),
    ("cost --tariff", "cost cap --interval 1h --tariff ./{}"),
    ("cost --keylog", "cost cap --device nrf9160-lte-m --keylog {}"),
    ("cost --meter", "cost cap --device nrf9160-lte-m --meter {}"),
    ("cost --fit", "cost --fit {} --capture cap --device nrf9160-lte-m"),
    (
        "cost --capture",
        "cost --fit good.yaml --capture {} --device nrf9160-lte-m",
    ),
    (
        "cost --chemistry",
        "cost cap --device nrf9160-lte-m --battery 2400mAh@3.6V --chemistry ./{}",
    ),
    ("choose --file", "choose --file {} -o o"),
    ("choose --device", "choose --every 1h --device ./{} -o o"),
    (
        "choose --chemistry",
        "choose --every 1h --device nrf9160-lte-m --battery 2400mAh@3.6V --chemistry ./{} -o o",
    ),
    ("choose --tariff", "choose --every 1h --tariff ./{} -o o"),
    ("choose --link", "choose --every 1h --link ./{} -o o"),
    ("what-if FILE", "what-if {} coap-con -o o"),
    ("what-if --device", "what-if cap coap-con --device ./{} -o o"),
    (
        "what-if --chemistry",
        "what-if cap coap-con --device nrf9160-lte-m --battery 2400mAh@3.6V --chemistry ./{} -o o",
    ),
    ("what-if --tariff", "what-if cap coap-con --tariff ./{} -o o"),
    ("what-if --keylog", "what-if cap coap-con --keylog {} -o o"),
    ("what-if --link", "what-if cap coap-con --link ./{} -o o"),
    ("report DIR", "report {}"),
    ("serve --cert", "serve mqtt --tls --cert {} --key {}"),
    ("serve --key", "serve mqtt --tls --cert {} --key {}"),
    ("serve --client-ca", "serve mqtt --tls --client-ca {}"),
    (
        "serve --user",
        "serve mqtt --cert nowhere --key nowhere --tls --user @{}",
    ),
    (
        "serve --psk",
        "serve coap --dtls --cert nowhere --key nowhere --psk @{}",
    ),
    (
        "serve --oscore",
        "serve coap --cert nowhere --key nowhere --oscore @{}",
    ),
    (
        "serve --edhoc",
        "serve coap --cert nowhere --key nowhere --edhoc @{}",
    ),
    (
        "store --cacert",
        "store mqtts://127.0.0.1:1/x postgres://u@127.0.0.1:1/d --cacert {}",
    ),
    (
        "store --broker-password-file",
        "store mqtt://u@127.0.0.1:1/x postgres://u@127.0.0.1:1/d --broker-password-file {}",
    ),
    (
        "store --store-password-file",
        "store mqtt://127.0.0.1:1/x postgres://u@127.0.0.1:1/d --store-password-file {}",
    ),
    ("agent --join", "agent --join {}"),
    ("links FILE", "links ./{}"),
    ("merge DIR", "merge {} run -o o"),
    (
        "object seal FILE",
        "object seal -o sealed --key signer.key --to key.pub {}",
    ),
    (
        "object seal --key",
        "object seal -o sealed --key {} --to key.pub good.yaml",
    ),
    (
        "object seal --to",
        "object seal -o sealed --key signer.key --to {} good.yaml",
    ),
    (
        "object open FILE",
        "object open --key key.key --signer signer.pub {}",
    ),
    (
        "object open --key",
        "object open --key {} --signer signer.pub good.yaml",
    ),
    (
        "object open --signer",
        "object open --key key.key --signer {} good.yaml",
    ),
    ("object inspect FILE", "object inspect {}"),
    ("object inspect --signer", "object inspect good.yaml --signer {}"),
    ("study --from", "study --from {} --no-runs -o o"),
    ("study --baseline", "study nbiot --baseline {} --no-runs -o o"),
    ("devices FILE", "devices ./{}"),
    ("tariffs FILE", "tariffs ./{}"),
    ("diff DIR", "diff {} run"),
    ("claims FILE", "claims {} one=run"),
    ("nbiot --free", "nbiot --fit served(tcp,25B,1/s)=95% --free {}"),
    (
        "nbiot --known",
        "nbiot --fit served(tcp,25B,1/s)=95% --free free.yaml --known {}",
    ),
    ("claims RUN", "claims claims.yaml one={}"),
];

/// Options whose files the program writes; their tests are in [`crate::outputs`] and in `link`.
const OUTPUTS: [&str; 17] = [
    "budget --badge",
    "budget --markdown",
    "cost --curve",
    "cost --day-curve",
    "cost --residual",
    "probe --save-chain",
    "--figures",
    "--out",
    "--json",
    "--junit",
    "--join-file",
    "--ca-out",
    "--write",
    "--keylog",
    "--profile",
    "--set-aside",
    "--resume",
];

/// A file of claims about one run.
const CLAIMS: &str = "wirecost: 1\nstudy: mine\nsource: a paper\nruns: {one: good.yaml}\nclaims:\n\
    - {id: A1, says: bytes, where: here, published: 1 B, value: one/wire_bytes_up mean, reason: none}\n";

/// What stands at the place of a file.
const STRANGE: [&str; 8] = [
    "fifo", "zero", "folder", "loop", "controls", "escapes", "empty", "nowhere",
];

/// A folder with everything that the commands name.
fn prepared() -> tempfile::TempDir {
    let home = open_folder();
    let path = home.path();
    let at = |name: &str| path.join(name);
    let fifo = Command::new("mkfifo").arg(at("fifo")).status();
    assert!(fifo.expect("mkfifo").success());
    symlink("/dev/zero", at("zero")).expect("a link");
    fs::create_dir(at("folder")).expect("a folder");
    symlink("loop", at("loop")).expect("a link");
    fs::write(at("controls"), b"\x1b]0;owned\x07\x1b[2J\xff\n").expect("a file");
    let escapes = r#"{"\u001b]0;owned\u0007": "\u001b[2J", "name": "\u009b31m"}"#;
    fs::write(at("escapes"), escapes).expect("a file");
    fs::write(at("empty"), "").expect("a file");
    fs::write(path.join(OsStr::from_bytes(b"caf\xe9")), "no file of ours").expect("a file");
    fs::write(
        at("good.yaml"),
        "wirecost: 1\nstack: udp\nengine: sim\nsamples: 1\n",
    )
    .expect("a file");
    let budget =
        "wirecost_budget: 1\nscenarios: {one: {file: good.yaml, limits: {bytes_per_msg: <= 2% above}}}\n";
    fs::write(at("budget.yaml"), budget).expect("a file");
    let captured = "wirecost_budget: 1\ncapture: {interval: 15min, limits: {bytes_per_msg: <= 1 kB}}\n";
    fs::write(at("captured.yaml"), captured).expect("a file");
    let free =
        "wirecost: 1\nfree: {rrc.removal_ms: [40, 100]}\nsolved: {scenario.isd_m: {from: 2000, to: 4000}}\n";
    fs::write(at("free.yaml"), free).expect("a file");
    let claims = CLAIMS;
    fs::write(at("claims.yaml"), claims).expect("a file");
    for words in [
        "run good.yaml -o run -q",
        "object keygen p256 key",
        "object keygen sign signer",
    ] {
        let said = said(wirecost(path).args(words.split(' ')));
        assert_eq!(said.code, Some(0), "{words}: {}", said.stderr);
    }
    fs::copy(at("run/capture/sim.pcapng"), at("cap")).expect("a capture");
    home
}

fn words(line: &str, file: &OsStr) -> Vec<OsString> {
    let word = |word: &str| {
        let Some((before, after)) = word.split_once("{}") else {
            return word.into();
        };
        let bytes = [before.as_bytes(), file.as_bytes(), after.as_bytes()].concat();
        OsString::from_vec(bytes)
    };
    line.split(' ').map(word).collect()
}

#[test]
fn what_is_no_file_is_refused_by_every_option_in_one_sentence() {
    let home = prepared();
    for (option, line) in INPUTS {
        for strange in STRANGE {
            let words = words(line, OsStr::new(strange));
            let said = bounded(home.path(), &words);
            let is_content = ["controls", "escapes", "empty"].contains(&strange);
            // A folder may be what is asked for, and then is empty.
            if is_content {
                continue;
            }
            assert_eq!(said.code, Some(2), "{words:?}: {}", said.stderr);
            assert!(
                said.line("error: ").is_some(),
                "{option}: {words:?}: {}",
                said.stderr
            );
        }
    }
}

#[test]
fn a_path_that_is_no_text_is_taken_by_every_option() {
    let home = prepared();
    for (_, line) in INPUTS {
        let words = words(line, OsStr::from_bytes(b"caf\xe9"));
        let said = bounded(home.path(), &words);
        assert!(
            said.line("error: ").is_some() || said.code == Some(0),
            "{words:?}"
        );
    }
}

/// Options and arguments with a file in the help of every command, such as `compare --link` and `object seal FILE`.
fn in_the_help(home: &Path) -> BTreeSet<String> {
    let help = |words: &[&str]| said(wirecost(home).args(words)).stdout;
    let commands = help(&["--help"]);
    // The commands stand in groups, each below a title that ends with a colon; topics and options are none.
    let names = commands
        .lines()
        .skip_while(|line| !line.ends_with(':'))
        .take_while(|line| !line.starts_with("Topics"))
        .filter_map(|line| line.strip_prefix("  ").filter(|line| !line.starts_with(' ')))
        .filter_map(|line| line.split(' ').next());
    let parts = ["keygen", "seal", "open", "inspect"].map(|part| vec!["object", part]);
    let all = names
        .filter(|name| !["object", "help"].contains(name))
        .map(|name| vec![name])
        .chain(parts);
    let mut found = BTreeSet::new();
    for command in all {
        let text = help(&[&command[..], &["--help-all"]].concat());
        for line in text.lines().map(str::trim_start) {
            let head = line.split("  ").next().unwrap_or_default();
            let takes = head.split_once(['<', '[']).map_or("", |(_, value)| value);
            let is_file = takes
                .split(|sign: char| !sign.is_alphabetic())
                .any(|name| ["FILE", "DIR", "FOLDER", "TRACE", "CAPTURE", "OLD"].contains(&name));
            if !head.starts_with('-') || !is_file {
                continue;
            }
            let option = head.split([' ', ',']).find(|word| word.starts_with("--"));
            found.extend(option.map(|option| format!("{} {option}", command.join(" "))));
        }
    }
    found
}

#[test]
fn every_option_of_the_help_that_takes_a_file_has_its_line_here() {
    let home = open_folder();
    let found = in_the_help(home.path());
    assert!(found.len() > 40, "{found:?}");
    let known: BTreeSet<&str> = INPUTS.iter().map(|(option, _)| *option).collect();
    let is_known = |option: &&String| {
        let is_output = OUTPUTS.iter().any(|output| option.ends_with(output));
        is_output || known.contains(option.as_str())
    };
    let unknown: Vec<&String> = found.iter().filter(|option| !is_known(option)).collect();
    assert!(unknown.is_empty(), "add a line to INPUTS for {unknown:?}");
}

#[test]
fn files_that_a_scenario_names_are_refused_like_its_own() {
    let home = prepared();
    let path = home.path();
    for strange in STRANGE {
        for (kind, text) in [
            (
                "payload",
                format!("wirecost: 1\nstack: udp\nengine: sim\npayload: {{file: {strange}}}\n"),
            ),
            (
                "link",
                format!("wirecost: 1\nstack: udp\nengine: sim\nlink: ./{strange}\n"),
            ),
            (
                "trace",
                format!(
                    "wirecost: 1\nstack: tcp\nengine: sim\npayload: {{trace: {strange}}}\nphases: [{{do: publish, rate: 1/s, duration: 1s}}]\n"
                ),
            ),
        ] {
            fs::write(path.join("names.yaml"), text).expect("a file");
            let out = format!("o-{kind}-{strange}");
            let said = bounded(path, &words(&format!("run names.yaml -o {out}"), OsStr::new("")));
            let is_payload = kind == "payload" && ["controls", "escapes", "empty"].contains(&strange);
            if !is_payload {
                assert_eq!(said.code, Some(2), "{kind} {strange}: {said:?}");
                assert!(said.stderr.contains(strange), "{kind} {strange}: {said:?}");
            }
        }
    }
}

#[test]
fn files_of_a_results_folder_are_refused_like_any_other() {
    let home = prepared();
    let path = home.path();
    for name in [
        "summary.json",
        "env.json",
        "ladder.json",
        "samples.csv",
        "journal.jsonl",
        "scenario.resolved.yaml",
    ] {
        for strange in STRANGE {
            let copy = path.join(format!("{strange}-{name}"));
            copied(&path.join("run"), &copy);
            fs::remove_file(copy.join(name)).expect("removed");
            if strange != "nowhere" {
                symlink(path.join(strange), copy.join(name)).expect("a link");
            }
            for line in [
                "report {}",
                "diff {} run",
                "diff run {}",
                "claims claims.yaml one={}",
                "merge {} run -o merged",
                "cost {} --device nrf9160-lte-m",
                "compare --engine sim -n 1 udp --resume {}",
            ] {
                bounded(path, &words(line, copy.as_os_str()));
            }
        }
    }
}

fn copied(from: &Path, to: &Path) {
    fs::create_dir(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder").flatten() {
        let place: PathBuf = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copied(&entry.path(), &place),
            false => drop(fs::copy(entry.path(), place).expect("copied")),
        }
    }
}

#[test]
fn a_pipe_of_the_shell_is_a_file() {
    let home = prepared();
    let line = format!(
        "{} run <(cat good.yaml) -q -o piped && {} pcap <(cat cap) && {} run - -q -o fed < good.yaml",
        crate::common::WIRECOST,
        crate::common::WIRECOST,
        crate::common::WIRECOST
    );
    let said = said(Command::new("bash").args(["-c", &line]).current_dir(home.path()));
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(home.path().join("piped/summary.json").exists());
    assert!(home.path().join("fed/summary.json").exists());
    let endless = format!("{} run - < /dev/zero", crate::common::WIRECOST);
    let said = self::said(
        Command::new("bash")
            .args(["-c", &endless])
            .current_dir(home.path()),
    );
    assert_eq!(said.code, Some(2));
    assert_eq!(
        said.line("error: "),
        Some("cannot read -: it is longer than 4 MiB, the most for a scenario")
    );
}
