//! The arguments of the commands that read what is there: captures and results folders.

use std::path::PathBuf;

use clap::Args;

/// `wirecost pcap`.
#[derive(Debug, Args)]
#[command(
    after_help = "It reads pcap and pcapng: MQTT, CoAP, HTTP/1.1, HTTP/3, AMQP 1.0 and bare messages, in the clear or inside \
    TLS, DTLS 1.2 or QUIC. What cannot be attributed is named. Secrets are read from the capture too, where it carries them.\n\n\
    Exit codes: 0 ok, 1 output could not be written, 2 not a capture or usage, \
    14 the capture ends inside a packet: what was read is reported."
)]
pub struct PcapArguments {
    /// Capture in pcap or pcapng
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// Secrets of its TLS, DTLS and QUIC connections, as SSLKEYLOGFILE makes them
    #[arg(long, value_name = "FILE")]
    pub keylog: Option<PathBuf>,

    /// Write the report as JSON to FILE, or instead of the table to stdout where FILE is -
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// `wirecost report`.
#[derive(Debug, Args)]
pub struct ReportArguments {
    /// Results folder
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
}

/// `wirecost merge`.
#[derive(Debug, Args)]
#[command(
    after_help = "Comparisons must be of one scenario; their cells are put side by side. Loads of one key ran at the same \
    time and add up: counts and histograms do, and quantiles are computed again from the sums. Machines that load one broker \
    each need client identifiers of their own (--client-id north-%d), which make no other key. Loads of different keys are \
    put side by side. Thresholds of the scenarios are judged over the whole.\n\n\
    Exit codes: that of a run with these figures (0, 13, 14, 99, 130), 1 output could not be written, \
    2 usage or folders that do not belong together."
)]
pub struct MergeArguments {
    /// Results folders of the runs
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<PathBuf>,

    /// Results folder of the whole [default: runs/TIME]
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}
