//! Who devices are: certificates and credentials, one for all or one for each.

use std::path::Path;

use serde_json::Value;
use wirecost_security::certificate::{Authority, Usage};

use crate::broker::{Mosquitto, loaded, published};
use crate::common::{need_root, open_folder};
use crate::run_in;

/// Writes the certificate of an authority, a server's, and those of `devices` devices into the folder `certs`.
fn issue(folder: &Path, devices: u32) {
    let authority = Authority::generate().expect("an authority");
    let write = |name: String, text: String| std::fs::write(folder.join(name), text).expect("a file");
    let pair = |place: &str, usage, name: &str| {
        let identity = authority
            .issue(usage, &[name, "127.0.0.1"])
            .expect("a certificate");
        write(
            format!("{place}.crt"),
            identity.certificates_to_pem().expect("PEM"),
        );
        write(
            format!("{place}.key"),
            identity.private_key_to_pem().expect("PEM"),
        );
    };
    std::fs::create_dir(folder.join("certs")).expect("a folder");
    write("ca.crt".to_owned(), authority.to_pem().expect("PEM"));
    pair("server", Usage::Server, "localhost");
    for device in 1..=devices {
        let name = format!("dev-{device}");
        pair(&format!("certs/{name}"), Usage::Client, &name);
    }
}

#[test]
#[ignore = "needs root and mosquitto"]
fn devices_present_one_certificate_or_one_each() {
    need_root();
    let home = open_folder();
    issue(home.path(), 10);
    let at = |name: &str| home.path().join(name).display().to_string();
    // The broker takes the name in a certificate for the user, and lets each user write to the topic of its name alone.
    std::fs::write(at("acl"), "pattern write t/%u\npattern write all/%c\n").expect("a file");
    let lines = format!(
        "cafile {}\ncertfile {}\nkeyfile {}\nrequire_certificate true\nuse_identity_as_username true\nacl_file {}\nlog_dest none",
        at("ca.crt"),
        at("server.crt"),
        at("server.key"),
        at("acl")
    );
    let broker = Mosquitto::start(home.path(), &lines);
    let url = broker.url("mqtts");
    let acknowledged = |more: &[&str]| {
        let line = ["--mqtt", "5", "--cacert", "ca.crt"];
        let (_, load) = loaded(home.path(), &url, &[line.as_slice(), more].concat());
        let outcomes = &published(&load)["outcomes"];
        (outcomes["acknowledged"].as_u64(), outcomes["refused"].as_u64())
    };
    let own = acknowledged(&["--cert", "certs", "--resource", "t/dev-%d"]);
    assert_eq!(
        own,
        (Some(50), Some(0)),
        "each device has the certificate of its number"
    );
    // One certificate for all: nine of ten may not write where they do.
    let one = acknowledged(&[
        "--cert",
        "certs/dev-1.crt",
        "--key",
        "certs/dev-1.key",
        "--resource",
        "t/dev-%d",
    ]);
    assert_eq!(one, (Some(5), Some(45)));
}

#[test]
fn certificates_that_devices_lack_are_named() {
    let home = open_folder();
    issue(home.path(), 10);
    let load = |more: &[&str]| {
        let line = ["load", "mqtts://127.0.0.1:1", "-c", "10", "--insecure"];
        run_in(home.path(), &[line.as_slice(), more].concat())
    };
    std::fs::remove_file(home.path().join("certs/dev-7.key")).expect("a file");
    for (more, told) in [
        (
            vec!["--cert", "certs"],
            "certs: dev-7.key is missing: dev-7.crt has no other half",
        ),
        (
            vec!["--cert", "certs/dev-1.crt"],
            "certs/dev-1.crt is a certificate, and no key was named",
        ),
        (
            vec!["--cert", "certs/none.crt", "--key", "certs/dev-1.key"],
            "cannot read certs/none.crt: ",
        ),
        (
            vec!["--cert", "certs/dev-1.key", "--key", "certs/dev-1.key"],
            "certs/dev-1.key: no certificate in the PEM text",
        ),
    ] {
        let said = load(&more);
        assert_eq!(said.code, Some(2), "{more:?}: {}", said.stderr);
        assert!(
            said.line("error: ").is_some_and(|error| error.starts_with(told)),
            "{more:?}: {}",
            said.stderr
        );
    }
    let started = run_in(home.path(), &["load", "mqtt-qos1+tls1.3", "--cert", "certs"]);
    assert_eq!(started.code, Some(2));
    assert!(
        started
            .stderr
            .contains("a server that wirecost starts asks devices for no certificates"),
        "{}",
        started.stderr
    );
}

#[test]
#[ignore = "needs root and mosquitto"]
fn devices_have_the_credentials_and_topics_of_a_file() {
    need_root();
    let home = open_folder();
    let at = |name: &str| home.path().join(name).display().to_string();
    let line = |device: u32| format!("user{device},\"pass,{device}\",id-{device},plant/{device}\n");
    let rows: String = (1..=10).map(line).collect();
    std::fs::write(
        at("devices.csv"),
        format!("user,password,client_id,topic\n{rows}"),
    )
    .expect("a file");
    for device in 1..=10 {
        let (user, password) = (format!("user{device}"), format!("pass,{device}"));
        let create: &[&str] = if device == 1 { &["-c"] } else { &[] };
        let made = std::process::Command::new("mosquitto_passwd")
            .args(create)
            .args(["-b", &at("passwords"), &user, &password])
            .status();
        assert!(made.expect("mosquitto_passwd").success());
    }
    // Each client may write to one topic: its own.
    let own = |device: u32| format!("user user{device}\ntopic write plant/{device}\n");
    std::fs::write(at("acl"), (1..=10).map(own).collect::<String>()).expect("a file");
    let lines = format!(
        "allow_anonymous false\npassword_file {}\nacl_file {}",
        at("passwords"),
        at("acl")
    );
    let broker = Mosquitto::start(home.path(), &lines);
    let url = broker.url("mqtt");
    let (_, load) = loaded(
        home.path(),
        &url,
        &["--mqtt", "5", "--credentials", "devices.csv"],
    );
    let outcomes = &published(&load)["outcomes"];
    assert_eq!(
        (&outcomes["acknowledged"], &outcomes["refused"]),
        (&50.into(), &0.into()),
        "{load}"
    );
    // The same by patterns, but for the passwords: the topic of another device is refused.
    let others = [
        "--mqtt",
        "5",
        "--credentials",
        "users.csv",
        "--resource",
        "plant/1",
        "--client-id",
        "id-{device}",
    ];
    let rows: String = (1..=10)
        .map(|device| format!("user{device},\"pass,{device}\"\n"))
        .collect();
    std::fs::write(at("users.csv"), format!("user,password\n{rows}")).expect("a file");
    let (_, load) = loaded(home.path(), &url, &others);
    let outcomes = &published(&load)["outcomes"];
    assert_eq!(
        (&outcomes["acknowledged"], &outcomes["refused"]),
        (&5.into(), &45.into()),
        "{load}"
    );
}

#[test]
fn what_a_file_of_credentials_lacks_is_named_with_its_line() {
    let home = open_folder();
    let load = |text: &str, more: &[&str]| {
        std::fs::write(home.path().join("c.csv"), text).expect("a file");
        let line = ["load", "mqtt://127.0.0.1:1", "-c", "2", "--credentials", "c.csv"];
        run_in(home.path(), &[line.as_slice(), more].concat())
    };
    for (text, more, told) in [
        (
            "user\na\nb\n",
            vec![],
            "--credentials: c.csv, line 1: the column password is missing: the columns are ",
        ),
        (
            "user,password\na,p\nb\n",
            vec![],
            "--credentials: c.csv, line 3: it has 1 of 2 columns: password is missing",
        ),
        (
            "user,password,topic\na,p,t\nb,p,u\n",
            vec!["--subscribers", "1"],
            "--credentials: how many messages subscribers are to receive",
        ),
    ] {
        let said = load(text, &more);
        assert_eq!(said.code, Some(2), "{text}: {}", said.stderr);
        assert!(
            said.line("error: ").is_some_and(|error| error.starts_with(told)),
            "{text}: {}",
            said.stderr
        );
    }
    let few = load("user,password\na,p\n", &[]);
    assert!(
        few.stderr
            .contains("c.csv has 1 device, and there are 2, subscribers included"),
        "{}",
        few.stderr
    );
}

#[test]
fn a_simulated_device_sends_the_topic_of_its_line_and_no_password_is_kept() {
    let home = open_folder();
    std::fs::write(
        home.path().join("c.csv"),
        "user,password,topic\nanna,secret-1,t\nbert,secret-2,a/long/topic\n",
    )
    .expect("a file");
    let up = |credentials: &[&str], out: &str| {
        let line = [
            "load",
            "mqtt-qos1",
            "-c",
            "2",
            "-r",
            "10/s",
            "-d",
            "1s",
            "--engine",
            "sim",
            "--resource",
            "t",
            "-q",
            "-o",
            out,
        ];
        let said = run_in(home.path(), &[line.as_slice(), credentials].concat());
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        let folder = home.path().join(out);
        let text = std::fs::read_to_string(folder.join("summary.json")).expect("a summary");
        let summary: Value = serde_json::from_str(&text).expect("a summary");
        let scenario = std::fs::read_to_string(folder.join("scenario.resolved.yaml")).expect("a scenario");
        assert!(
            !text.contains("secret") && !scenario.contains("secret"),
            "{scenario}"
        );
        (
            published(&summary["loads"][0])["socket_bytes_up"]
                .as_u64()
                .expect("bytes"),
            folder,
        )
    };
    let (plain, _) = up(&[], "plain");
    let (own, folder) = up(&["--credentials", "c.csv"], "own");
    assert_eq!(own, plain + 5 * ("a/long/topic".len() as u64 - 1));
    let again = run_in(
        home.path(),
        &[
            "run",
            &folder.join("scenario.resolved.yaml").display().to_string(),
            "-q",
            "-o",
            "again",
        ],
    );
    assert_eq!(again.code, Some(0), "{}", again.stderr);
}
