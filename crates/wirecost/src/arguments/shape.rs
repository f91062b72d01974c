//! The arguments of `wirecost load` that change what devices do apart from sending messages.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use wirecost_proto::ByteSize;
use wirecost_proto::units::{UnitError, parse_duration};
use wirecost_scenario::load::CLIENT_ID;
use wirecost_scenario::options::load::Backoff;
use wirecost_scenario::options::sending::Connection;
use wirecost_scenario::table::clients;

use super::http::HttpArguments;
use super::login::LoginArguments;

/// Options that do not apply to a storm. The options of a storm must conflict with them, too: clap does not report a
/// missing required option if an option that conflicts with it is present.
const NO_STORM: [&str; 20] = [
    "replay",
    "late_subscribers",
    "retain",
    "count",
    "rate",
    "per_client",
    "poisson",
    "warmup",
    "ramp",
    "spread",
    "closed_loop",
    "inflight",
    "size",
    "readings",
    "encoding",
    "compression",
    "payload_file",
    "payload_template",
    "connect_only",
    "get",
];
/// Shapes without subscribers.
const NO_SUBSCRIBERS: [&str; 2] = ["connect_only", "get"];

/// What devices do.
#[derive(Debug, Args)]
pub struct ShapeArguments {
    /// Number of additional devices that receive (MQTT subscribers, CoAP observers, HTTP clients that poll)
    #[arg(long, value_name = "N", value_parser = clients, allow_hyphen_values = true)]
    pub subscribers: Option<u32>,

    /// Topic filter of the subscribers; %d is the subscriber's number [default: the topic, with + for its placeholders; messages,
    /// the pages of the built-in server, with --poll]
    #[arg(long, value_name = "FILTER", requires = "subscribers", conflicts_with_all = NO_SUBSCRIBERS)]
    pub filter: Option<String>,

    /// How often each subscriber asks for the messages since its last question (HTTP)
    #[arg(long, value_name = "TIME", value_parser = parse_duration, allow_hyphen_values = true, requires = "subscribers",
        conflicts_with_all = NO_SUBSCRIBERS)]
    pub poll: Option<Duration>,

    /// Group name of a shared subscription: each message goes to one subscriber of the group (MQTT)
    #[arg(long, value_name = "GROUP", requires = "subscribers", conflicts_with_all = NO_SUBSCRIBERS)]
    pub shared: Option<String>,

    /// QoS of the subscriptions [default: the QoS of the messages]
    #[arg(long, value_name = "QOS", requires = "subscribers", conflicts_with_all = NO_SUBSCRIBERS,
        value_parser = clap::value_parser!(u8).range(0..=2))]
    pub subscribe_qos: Option<u8>,

    /// Send retained messages (MQTT)
    #[arg(long)]
    pub retain: bool,

    /// Subscribers connect after the messages were sent, and receive the retained ones
    #[arg(long, requires = "subscribers", requires = "retain", conflicts_with_all = NO_SUBSCRIBERS)]
    pub late_subscribers: bool,

    /// How long sessions outlive their connections (MQTT; without a limit in 3.1.1) [default: clean starts]
    #[arg(long, value_name = "TIME", value_parser = parse_duration, allow_hyphen_values = true)]
    pub session_expiry: Option<Duration>,

    /// Subscribers disconnect while messages are sent, reconnect, and receive the messages queued for their sessions
    #[arg(
        long,
        requires = "subscribers",
        requires = "session_expiry",
        conflicts_with = "late_subscribers",
        conflicts_with_all = NO_SUBSCRIBERS
    )]
    pub replay: bool,

    /// Topic of each device's will message; %d is the device's number (MQTT)
    #[arg(long, value_name = "TOPIC")]
    pub will_topic: Option<String>,

    /// Payload of the will messages
    #[arg(long, value_name = "TEXT", default_value = "lost", requires = "will_topic")]
    pub will_payload: String,

    /// File whose bytes are the payload of each message
    #[arg(long, value_name = "FILE", conflicts_with_all = ["size", "readings", "encoding", "compression"])]
    pub payload_file: Option<PathBuf>,

    /// Text of each payload: %d is the device's number, %n the message's number, %t the intended time in ms since 1970,
    /// %r eight random digits
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["size", "readings", "encoding", "compression", "payload_file"])]
    pub payload_template: Option<String>,

    /// Give each message to TCP in pieces of this size, as a program does that reads a file; without TLS
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true)]
    pub chunk: Option<ByteSize>,

    /// Leave Nagle's algorithm on: TCP holds a small segment back until the one before it is acknowledged
    #[arg(long)]
    pub nagle: bool,

    #[command(flatten)]
    pub http: HttpArguments,

    /// How long connections last: kept (one carries all messages of its device) or per-message (each message has its own,
    /// and its time contains the connect)
    #[arg(long, value_name = "WHAT", default_value_t = Connection::Kept)]
    pub connection: Connection,

    #[command(flatten)]
    pub login: LoginArguments,

    /// Client identifiers; %d is the device's number, %x three characters of this run at a server that runs already
    #[arg(long, value_name = "TEXT", default_value = CLIENT_ID)]
    pub client_id: String,

    /// Fetch the resource with GET instead of sending (CoAP, HTTP)
    #[arg(long, conflicts_with_all = ["connect_only", "reconnect_storm", "subscribers"])]
    pub get: bool,

    /// Connect and close, again and again, to measure handshakes; --rate is the rate of handshakes, --start selects how
    /// they start
    #[arg(long, conflicts_with_all = ["reconnect_storm", "subscribers", "retain", "inflight", "size", "readings", "encoding", "compression",
        "payload_file", "payload_template", "connect_rate"])]
    pub connect_only: bool,

    /// Connect, stay connected for --duration, lose all connections at one instant, and reconnect. No messages are
    /// sent, and --connect-rate is the only rate
    #[arg(long, conflicts_with_all = NO_STORM)]
    pub reconnect_storm: bool,

    /// First and longest wait before a reconnect; the wait doubles after each failure: 1s..30s, or 0s for none
    #[arg(long, value_name = "FIRST..LAST", default_value = "1s..30s", requires = "reconnect_storm", conflicts_with_all = NO_STORM,
        value_parser = backoff, allow_hyphen_values = true)]
    pub backoff: Backoff,

    /// Wait for the full back-off instead of a random part of it
    #[arg(long, requires = "reconnect_storm", conflicts_with_all = NO_STORM)]
    pub no_jitter: bool,

    /// Time after which a device that has not reconnected has failed
    #[arg(long, value_name = "TIME", default_value = "120s", requires = "reconnect_storm", conflicts_with_all = NO_STORM,
        value_parser = parse_duration, allow_hyphen_values = true)]
    pub back_within: Duration,
}

/// Why a back-off on the command line is refused.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
enum BackoffError {
    #[error(transparent)]
    Time(#[from] UnitError),
    #[error("the first wait must not be above the last")]
    Order,
}

/// `1s..30s`, or one time that does not grow.
fn backoff(text: &str) -> Result<Backoff, BackoffError> {
    let (first, last) = text.split_once("..").unwrap_or((text, text));
    let (first, max) = (parse_duration(first.trim())?, parse_duration(last.trim())?);
    if first > max {
        return Err(BackoffError::Order);
    }
    Ok(Backoff {
        first,
        max,
        full_jitter: true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_back_off_is_a_range_or_one_time() {
        let of = |text| backoff(text).map(|backoff| (backoff.first.as_millis(), backoff.max.as_millis()));
        assert_eq!(of("1s..30s"), Ok((1_000, 30_000)));
        assert_eq!(of("500ms"), Ok((500, 500)));
        assert_eq!(of("0s"), Ok((0, 0)));
        assert!(of("30s..1s").is_err() && of("1..30").is_err() && of("").is_err());
    }
}
