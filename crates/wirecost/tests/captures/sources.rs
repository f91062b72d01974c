//! Where captures and keys come from, and what the file itself says was lost.

use std::process::Stdio;

use super::build::{self, ETHERNET, ethernet, framed, interface, mqtt, obsolete, option, packet, statistics};
use super::{folder, pcap};
use crate::common::{ended, said, wirecost};

#[test]
fn packets_in_obsolete_blocks_are_counted() {
    let mut blocks = vec![interface(ETHERNET, "eth0")];
    let frames = framed(&mqtt(), ethernet);
    blocks.extend(
        frames
            .iter()
            .enumerate()
            .map(|(index, frame)| obsolete(build::at_us(index), frame, u16::MAX)),
    );
    let told = pcap(&build::pcapng(&blocks));
    assert_eq!(
        (told.counted(), told.code),
        ((19, 850), Some(0)),
        "{}",
        told.table
    );
    assert!(told.table.contains("19 packets in 0.180 s"), "{}", told.table);
    assert_eq!(told.number("/lost_packets"), 0);
}

#[test]
fn what_the_capture_lost_is_said() {
    let frames = framed(&mqtt(), ethernet);
    let enhanced = |options: &[u8]| packet(0, build::at_us(0), &frames[0], options);
    let drop_count = [option(4, &7u64.to_le_bytes()), option(0, b"")].concat();
    let table = [
        (vec![enhanced(b""), statistics(0, [983, 0])], 983),
        // Statistics count from the start: the last ones are the highest.
        (
            vec![statistics(0, [1, 2]), enhanced(b""), statistics(0, [10, 20])],
            30,
        ),
        (vec![enhanced(&drop_count), enhanced(&drop_count)], 14),
        (vec![obsolete(build::at_us(0), &frames[0], 5), enhanced(b"")], 5),
        // Both say the same.
        (vec![enhanced(&drop_count), statistics(0, [7, 0])], 7),
        (vec![enhanced(b""), statistics(0, [0, 0])], 0),
    ];
    for (blocks, lost) in table {
        let told = pcap(&build::pcapng(
            &[vec![interface(ETHERNET, "eth0")], blocks].concat(),
        ));
        assert_eq!(told.number("/lost_packets"), lost, "{}", told.table);
        let warning = format!("warning: {lost} packets lost by the capture itself");
        assert_eq!(told.table.contains(&warning), lost > 0, "{}", told.table);
    }
}

#[test]
fn a_capture_may_come_from_standard_input() {
    let folder = folder(&build::pcap(ETHERNET, &framed(&mqtt(), ethernet)));
    for command in [
        "pcap FILE",
        "cost FILE --tariff per-mb",
        "what-if FILE udp -q --seed 1 --out run",
    ] {
        let of_file = said(wirecost(folder.path()).args(command.replace("FILE", "capture").split(' ')));
        let file = std::fs::File::open(folder.path().join("capture")).expect("the capture");
        let of_stdin = wirecost(folder.path())
            .args(command.replace("FILE", "-").replace("run", "other").split(' '))
            .stdin(file)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command starts");
        let of_stdin = ended(of_stdin);
        assert_eq!(
            (of_file.code, of_stdin.code),
            (Some(0), Some(0)),
            "{command}: {}",
            of_stdin.stderr
        );
        let named = of_file.stdout.replacen("capture:", "standard input:", 1);
        let named = if command.starts_with("cost") {
            of_file.stdout.replacen("capture:", "-:", 1)
        } else {
            named
        };
        assert_eq!(of_stdin.stdout, named, "{command}");
    }
}

#[test]
fn a_key_log_may_have_comments_in_any_encoding() {
    let folder = folder(&build::pcap(ETHERNET, &framed(&mqtt(), ethernet)));
    let secret = format!("CLIENT_RANDOM {} {}\n", "01".repeat(32), "02".repeat(48));
    let keys = [b"# Schl\xfcssel\n".as_slice(), secret.as_bytes()].concat();
    std::fs::write(folder.path().join("keys.log"), keys).expect("a file");
    for command in ["pcap", "cost --tariff per-mb"] {
        let mut words = command.split(' ');
        let said = said(
            wirecost(folder.path())
                .arg(words.next().unwrap_or_default())
                .args(["capture", "--keylog", "keys.log"])
                .args(words),
        );
        assert_eq!(said.code, Some(0), "{command}: {}", said.stderr);
        let is_known = command != "pcap" || said.stdout.contains("1 secret\n");
        assert!(is_known, "{}", said.stdout);
    }
}
