//! The arguments of the commands that read captures and results folders.

use std::path::PathBuf;

use clap::Args;
use wirecost_proto::Framing;

use super::TableArguments;

/// `wirecost pcap`.
#[derive(Debug, Args)]
#[command(
    after_help = "The capture may contain MQTT, CoAP, HTTP/1.1, HTTP/3, AMQP 1.0, PostgreSQL and bare messages, unencrypted or inside \
    TLS, DTLS 1.2 or QUIC. The report lists bytes that it cannot attribute. Secrets inside the capture are used, too.\n\n\
    tcpdump -i eth0 -w - port 1883 | wirecost pcap -\n\
    wirecost pcap device.pcap --merge-hosts server.pcap\n\n\
    Exit codes: 0 ok, 1 output could not be written, 2 not a capture, captures that have no packet in common, or usage, \
    14 the capture ends inside a packet (the report covers the packets before it), or most of it cannot be read."
)]
pub struct PcapArguments {
    /// Capture file (pcap or pcapng); - reads standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// Capture of the same traffic at the other host: what arrived, what did not, and how long it took; give the device's first
    #[arg(long, value_name = "FILE")]
    pub merge_hosts: Option<PathBuf>,

    /// Secrets of its TLS, DTLS and QUIC connections, in the format of SSLKEYLOGFILE
    #[arg(long, value_name = "FILE")]
    pub keylog: Option<PathBuf>,

    /// Also count bytes as a sniffer does, each packet with the header of its link layer: ethernet (14 B) or wifi (50 B)
    #[arg(long, value_name = "none|ethernet|wifi", default_value_t = Framing::None, hide_default_value = true)]
    pub framing: Framing,

    /// Also write the report as JSON to FILE; - prints it instead of the table
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// `wirecost report`.
#[derive(Debug, Args)]
#[command(
    after_help = "A figure's file needs neither the page nor its style sheet. For PDF, print the report in a browser, or convert a \
    figure: rsvg-convert -f pdf -o 01.pdf 01-NAME.svg. \
    With --open, Ctrl-C ends the page.\n\n\
    wirecost report runs/TIME --figures figures\n\
    wirecost report runs/TIME --open\n\n\
    Exit codes: 0 written, or ended by Ctrl-C, 1 output could not be written, 2 usage, 10 the page cannot listen."
)]
pub struct ReportArguments {
    /// Results folder
    #[arg(value_name = "RUN")]
    pub run: PathBuf,

    /// Also write each figure of the report to DIR, as an SVG file of its own
    #[arg(long, value_name = "DIR")]
    pub figures: Option<PathBuf>,

    /// Open the run in a browser: the page of wirecost ui with the folder in it, until Ctrl-C
    #[arg(long)]
    pub open: bool,
}

/// `wirecost merge`.
#[derive(Debug, Args)]
#[command(
    after_help = "Comparisons must come from one scenario; the result has the cells of all. Loads with the same key must \
    have run at the same time: their counts and histograms are added, and quantiles are computed from the sums. Loads with \
    different keys are listed side by side. Reports in NB-IoT cells must come from one scenario, too; the result has the runs of all. If several machines load one broker, give each its own client identifiers \
    (--client-id north-%d), which do not change the key. Thresholds of the scenarios are checked against the combined \
    results.\n\n\
    Exit codes: that of a run with these figures (0, 13, 14, 99, 130), 1 output could not be written, \
    2 usage or folders that do not belong together."
)]
pub struct MergeArguments {
    /// Results folders to combine
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<PathBuf>,

    /// Folder for the combined results [default: runs/TIME]
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// What the table of comparisons shows.
    #[command(flatten)]
    pub table: TableArguments,
}
