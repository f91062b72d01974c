//! `link.json`: what ran on which link, how it ended, and its bytes.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt as _;
use std::time::Duration;

use serde::Serialize;
use wirecost_dissect::Report;
use wirecost_link::Medium;
use wirecost_live::emulation::Left;
use wirecost_live::emulation::capture::Written;
use wirecost_results::link_text::LinkText;
use wirecost_stack::secret::without_passwords;

use super::Options;
use super::program::Ended;

/// The version of `link.json`.
pub const SCHEMA: u32 = 1;

/// The contents of `link.json`.
#[derive(Clone, Debug, Serialize)]
pub struct LinkSummary {
    /// The version of this format.
    pub schema: u32,
    /// The version of wirecost.
    pub version: String,
    /// The program and its arguments, without the passwords of URLs.
    pub command: Vec<String>,
    /// The server; null without one.
    pub server: Option<String>,
    /// The link.
    pub link: LinkText,
    /// Seed of the link's decisions.
    pub seed: u64,
    /// Whether `{server}` was an IPv6 address.
    pub ipv6: bool,
    /// The congestion control of TCP at both ends: `cubic`, `reno` or `bbr`.
    pub congestion: &'static str,
    /// How packets left the namespaces: `tun` or `veth`.
    pub packet_path: &'static str,
    /// The median round-trip time in the check of the link; null if no echo came back.
    pub round_trip_ns: Option<u64>,
    /// The exit code: the program's, or 128 and the signal.
    pub exit_code: u8,
    /// The signal that ended the program.
    pub signal: Option<i32>,
    /// From the program's start to its end.
    pub duration_ns: u64,
    /// CPU time of the program and of the processes that it waited for.
    pub cpu_ns: u64,
    /// The number of packets by fate.
    pub fates: BTreeMap<&'static str, u64>,
    /// Packets that an interface dropped or refused. The figures lack them.
    pub dropped_packets: u64,
    /// Warnings for the reader of the figures.
    pub warnings: Vec<String>,
    /// The bytes, as `wirecost pcap` finds them in the capture.
    pub report: Report,
}

pub(super) fn summary(
    options: &Options,
    server: Option<String>,
    ended: &Ended,
    round_trip: Option<Duration>,
    written: Written,
    left: &Left,
    report: Report,
) -> LinkSummary {
    let nanos = |duration: Duration| u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
    let mut warnings = ended.warnings.clone();
    // A capture that is cut short makes the figures incomplete: the file must say so itself.
    warnings.extend(written.cut_short);
    let words = options.command.iter();
    LinkSummary {
        schema: SCHEMA,
        version: env!("CARGO_PKG_VERSION").into(),
        command: words
            .map(|word| without_passwords(&word.to_string_lossy()))
            .collect(),
        server: server.as_deref().map(without_passwords),
        link: LinkText(options.link),
        seed: options.seed,
        ipv6: options.ipv6,
        congestion: options.congestion.name(),
        packet_path: if left.medium == Medium::Tun { "tun" } else { "veth" },
        round_trip_ns: round_trip.map(nanos),
        exit_code: ended.exit_code(),
        signal: ended.status.signal(),
        duration_ns: nanos(ended.duration),
        cpu_ns: nanos(ended.cpu),
        fates: written.fates,
        dropped_packets: written.dropped,
        warnings,
        report,
    }
}
