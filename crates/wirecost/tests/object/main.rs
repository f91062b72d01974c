//! `wirecost object`: keys, sealing, opening, every refusal, and the protection of secrets from other users.

#[path = "../common/mod.rs"]
mod common;

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use common::{Said, ended, open_folder, said, wirecost};
use serde_json::Value;
use tempfile::TempDir;

/// A folder with the keys of a signer and three others, and an object for two of them: Alice may open both parts, Bob
/// the first one during 2026.
struct KeyFolder(TempDir);

impl KeyFolder {
    fn new() -> Self {
        let desk = Self(open_folder());
        for arguments in [
            "keygen sign me",
            "keygen x25519 alice",
            "keygen p256 bob",
            "keygen x25519 eve",
        ] {
            desk.works(arguments);
        }
        desk.write("reading", b"21.5 C");
        desk.write("position", b"52.5 N 13.4 E");
        desk.works(
            "seal --key me.key --to alice.pub --to bob.pub,part=0,from=2026-01-01,until=2026-12-31 \
             --out object reading position",
        );
        desk
    }

    fn object(&self, arguments: &str) -> Said {
        said(
            wirecost(self.0.path())
                .arg("object")
                .args(arguments.split_whitespace()),
        )
    }

    fn works(&self, arguments: &str) -> Said {
        let said = self.object(arguments);
        assert_eq!(said.code, Some(0), "wirecost object {arguments}\n{}", said.stderr);
        said
    }

    fn write(&self, name: &str, content: &[u8]) {
        std::fs::write(self.0.path().join(name), content).expect("a file");
    }

    fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.0.path().join(name)).expect("a file")
    }

    fn mode(&self, name: &str) -> u32 {
        let metadata = std::fs::metadata(self.0.path().join(name)).expect("a file");
        metadata.permissions().mode() & 0o777
    }
}

fn json(said: &Said) -> Value {
    serde_json::from_str(&said.stdout).expect("JSON")
}

#[test]
fn participants_can_open_their_parts() {
    let desk = KeyFolder::new();
    let open = |arguments: &str| {
        desk.works(&format!("open object --signer me.pub {arguments}"))
            .stdout
    };
    assert_eq!(open("--key alice.key"), "21.5 C");
    assert_eq!(open("--key alice.key --part 1"), "52.5 N 13.4 E");
    assert_eq!(open("--key bob.key --at 2026-06-01"), "21.5 C");
    assert_eq!(open("--key bob.key --at 2026-12-31T23:59:59Z"), "21.5 C");
}

/// Arguments behind `open object`, the refusal's name, the sentence and the hint.
const REFUSED: &[(&str, &str, &str, &str)] = &[
    (
        "--key eve.key --signer me.pub",
        "outsider",
        "is not a participant of this object",
        "have it sealed for this one",
    ),
    (
        "--key bob.key --signer me.pub --part 1",
        "not-his-part",
        "may not open part 1: its rules cover part 0",
        "--part",
    ),
    (
        "--key bob.key --signer me.pub --at 2025-12-31",
        "not-yet",
        "may open part 0 from 2026-01-01T00:00:00Z on",
        "clock",
    ),
    (
        "--key bob.key --signer me.pub --at 2027-01-01",
        "expired",
        "until 2026-12-31T23:59:59Z",
        "clock",
    ),
    (
        "--key alice.key --signer other.pub",
        "unknown-signer",
        "is not trusted",
        "--signer",
    ),
];

#[test]
fn a_refusal_is_exit_code_12_and_reveals_nothing() {
    let desk = KeyFolder::new();
    desk.works("keygen sign other");
    for (arguments, name, sentence, hint) in REFUSED {
        let said = desk.object(&format!("open object {arguments} --out opened --json -"));
        assert_eq!(said.code, Some(12), "{arguments}\n{}", said.stderr);
        let error = said.line("error: ").expect("an error");
        assert!(error.contains(sentence), "{arguments}: {error}");
        assert!(
            said.line("hint: ").is_some_and(|line| line.contains(hint)),
            "{}",
            said.stderr
        );
        assert_eq!(json(&said)["refusal"], *name);
        assert!(!desk.0.path().join("opened").exists(), "{arguments}");
        let plain = desk.object(&format!("open object {arguments}"));
        assert_eq!((plain.code, plain.stdout.as_str()), (Some(12), ""));
    }
}

#[test]
fn a_flipped_bit_is_noticed_by_open_and_inspect() {
    let desk = KeyFolder::new();
    let mut object = desk.read("object");
    // A byte of the last wrapped key, which is the last of the object.
    *object.last_mut().expect("a byte") ^= 1;
    desk.write("object", &object);
    for arguments in [
        "open object --key alice.key --signer me.pub",
        "inspect object --signer me.pub",
    ] {
        let said = desk.object(arguments);
        assert_eq!(said.code, Some(12), "{arguments}");
        let error = said.line("error: ");
        assert_eq!(
            error,
            Some("the object was changed: the digest of part 1 does not hold")
        );
    }
}

#[test]
fn an_inspection_adds_up() {
    let desk = KeyFolder::new();
    let shown = json(&desk.works("inspect object --signer me.pub --json -"));
    assert_eq!(shown["payload_bytes"], 19);
    let bytes = desk.read("object").len();
    assert_eq!(shown["bytes"], bytes);
    assert_eq!(shown["security_bytes"], bytes - 19);
    assert_eq!(shown["signature_holds"], true);
    let recipients = |part: usize| shown["parts"][part]["recipients"].as_array().map(Vec::len);
    assert_eq!((recipients(0), recipients(1)), (Some(2), Some(1)));
    assert_eq!(shown["rules"].as_array().map(Vec::len), Some(3));
    let text = desk.works("inspect object").stdout;
    assert!(
        text.starts_with(&format!("object {bytes} B: 19 B payload, ")),
        "{text}"
    );
    assert!(
        text.contains("not checked: give the signer's public key with --signer"),
        "{text}"
    );
    assert!(
        text.contains("may open part 0 from 2026-01-01T00:00:00Z until 2026-12-31T23:59:59Z"),
        "{text}"
    );
    assert!(text.contains("may open part 1 at any time"), "{text}");
}

#[test]
fn secrets_are_the_owners_and_are_not_written_over() {
    let desk = KeyFolder::new();
    desk.works("open object --key alice.key --signer me.pub --out opened");
    for (name, mode) in [
        ("me.key", 0o600),
        ("alice.key", 0o600),
        ("opened", 0o600),
        ("me.pub", 0o644),
    ] {
        assert_eq!(desk.mode(name), mode, "{name}");
    }
    let before = desk.read("me.key");
    let again = desk.object("keygen sign me");
    assert_eq!(again.code, Some(2));
    assert_eq!(
        again.line("hint: "),
        Some("keys are not written over: choose another name")
    );
    assert_eq!(desk.read("me.key"), before);
}

#[test]
fn objects_go_through_pipes() {
    let desk = KeyFolder::new();
    let piped = |arguments: &str, input: &[u8]| {
        let mut command = wirecost(desk.0.path());
        command.arg("object").args(arguments.split(' '));
        let streams = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = streams.spawn().expect("the command starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        stdin.write_all(input).expect("a write");
        drop(stdin);
        ended(child)
    };
    let sealed = piped(
        "seal --key me.key --to alice.pub --out piped -",
        b"through a pipe",
    );
    assert_eq!(
        (sealed.code, sealed.stdout.as_str()),
        (Some(0), ""),
        "{}",
        sealed.stderr
    );
    assert_eq!(sealed.stderr, "296 B: 14 B payload, 282 B security\n");
    let opened = piped("open - --key alice.key --signer me.pub", &desk.read("piped"));
    assert_eq!((opened.code, opened.stdout.as_str()), (Some(0), "through a pipe"));
}

/// Arguments, and the expected text of the sentence. All have exit code 2.
const WRONG: &[(&str, &str)] = &[
    (
        "open reading --key alice.key --signer me.pub",
        "not a protected object: expected an array",
    ),
    ("inspect reading", "not a protected object"),
    (
        "open object --key alice.key --signer me.pub --part 2",
        "the object has no part 2: it has 2",
    ),
    (
        "open object --key alice.pub --signer me.pub",
        "alice.pub: the key has no private half",
    ),
    (
        "open object --key alice.key --signer me.key",
        "me.key: the key is a private one, expected a public one",
    ),
    (
        "open object --key me.key --signer me.pub",
        "me.key: the key is for signing, expected one for opening",
    ),
    (
        "open object --key reading --signer me.pub",
        "reading: not a COSE_Key",
    ),
    (
        "open nothing --key alice.key --signer me.pub",
        "cannot read nothing: ",
    ),
    (
        "open object --key alice.key --signer me.pub --json -",
        "the part and the JSON cannot both go to stdout",
    ),
    (
        "open object --key alice.key --signer me.pub --at soon",
        "\"soon\" is not a time: write 2026-12-31T23:59:59Z",
    ),
    ("open object --key alice.key", "--signer <FILE>"),
    (
        "seal --key me.key reading",
        "--to <FILE[,part=N][,from=TIME][,until=TIME]>",
    ),
    (
        "seal --key me.key --to alice.pub,part=1 reading",
        "a rule covers part 1, but the object has 1",
    ),
    (
        "seal --key me.key --to alice.pub,part=0 reading position",
        "no rule covers part 1",
    ),
    (
        "seal --key me.key --to alice.pub,part=one reading",
        "part=one is not a part",
    ),
    (
        "seal --key me.key --to alice.pub,when=now reading",
        "unknown limit \"when=now\"",
    ),
    (
        "seal --key me.key --to alice.pub,from=2027-01-01,until=2026-12-31 reading",
        "ends before it begins",
    ),
    (
        "seal --key me.key --to alice.pub - -",
        "stdin can be one part only",
    ),
    (
        "seal --key alice.key --to alice.pub reading",
        "the key is for opening, expected one for signing",
    ),
    (
        "seal --key me.key --to alice.key reading",
        "the key is a private one",
    ),
    (
        "seal --key me.key --to alice.pub --json - reading",
        "the object and the JSON cannot both go to stdout",
    ),
    (
        "seal --key me.key --to alice.pub --out /proc/nope reading",
        "cannot write /proc/nope: ",
    ),
    ("keygen rsa mine", "invalid value 'rsa' for '<KIND>'"),
];

#[test]
fn a_wrong_command_line_is_refused_with_the_reason() {
    let desk = KeyFolder::new();
    for (arguments, sentence) in WRONG {
        let said = desk.object(arguments);
        let place = format!("wirecost object {arguments}\n{}", said.stderr);
        assert_eq!(said.code, Some(2), "{place}");
        assert!(said.stderr.contains(sentence), "expected {sentence:?}\n{place}");
        assert_eq!(said.stdout, "", "{place}");
    }
}
