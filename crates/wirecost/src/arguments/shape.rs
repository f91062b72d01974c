//! The arguments of `wirecost load` that change what devices do apart from sending messages.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use wirecost_proto::units::{UnitError, parse_duration};
use wirecost_scenario::options::load::Backoff;
use wirecost_scenario::table::clients;

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
    #[arg(long, value_name = "N", value_parser = clients, allow_hyphen_values = true, help_heading = "Subscribers")]
    pub subscribers: Option<u32>,

    /// Topic filter of the subscribers; %d is the subscriber's number [default: the topic, with + for its placeholders; messages,
    /// the pages of the built-in server, with --poll]
    #[arg(long, value_name = "FILTER", requires = "subscribers", conflicts_with_all = NO_SUBSCRIBERS, help_heading = "Subscribers")]
    pub filter: Option<String>,

    /// How often each subscriber asks for the messages since its last question (HTTP)
    #[arg(long, value_name = "TIME", value_parser = parse_duration, allow_hyphen_values = true, requires = "subscribers",
        conflicts_with_all = NO_SUBSCRIBERS, help_heading = "Subscribers", hide_short_help = true)]
    pub poll: Option<Duration>,

    /// Group name of a shared subscription: each message goes to one subscriber of the group (MQTT)
    #[arg(long, value_name = "GROUP", requires = "subscribers", conflicts_with_all = NO_SUBSCRIBERS, help_heading = "Subscribers", hide_short_help = true)]
    pub shared: Option<String>,

    /// QoS of the subscriptions [default: the QoS of the messages]
    #[arg(long, value_name = "QOS", requires = "subscribers", conflicts_with_all = NO_SUBSCRIBERS,
        value_parser = clap::value_parser!(u8).range(0..=2), help_heading = "Subscribers", hide_short_help = true)]
    pub subscribe_qos: Option<u8>,

    /// Subscribers connect after the messages were sent, and receive the retained ones
    #[arg(long, requires = "subscribers", requires = "retain", conflicts_with_all = NO_SUBSCRIBERS, help_heading = "Subscribers", hide_short_help = true)]
    pub late_subscribers: bool,

    /// Subscribers disconnect while messages are sent, reconnect, and receive the messages queued for their sessions
    #[arg(
        long,
        requires = "subscribers",
        requires = "session_expiry",
        conflicts_with = "late_subscribers",
        conflicts_with_all = NO_SUBSCRIBERS, help_heading = "Subscribers", hide_short_help = true)]
    pub replay: bool,

    /// Topic of each device's will message; %d is the device's number (MQTT)
    #[arg(
        long,
        value_name = "TOPIC",
        help_heading = "Connections",
        hide_short_help = true
    )]
    pub will_topic: Option<String>,

    /// Payload of the will messages
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "lost",
        requires = "will_topic",
        help_heading = "Connections",
        hide_short_help = true
    )]
    pub will_payload: String,

    /// File whose bytes are the payload of each message
    #[arg(long, value_name = "FILE", conflicts_with_all = ["size", "readings", "encoding", "compression"], help_heading = "Messages", hide_short_help = true)]
    pub payload_file: Option<PathBuf>,

    /// Text of each payload: %d is the device's number, %n the message's number, %t the intended time in ms since 1970,
    /// %r eight random digits
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["size", "readings", "encoding", "compression", "payload_file"], help_heading = "Messages", hide_short_help = true)]
    pub payload_template: Option<String>,

    #[command(flatten, next_help_heading = "Connections")]
    pub login: LoginArguments,

    /// CSV file with a line for each device, below a header with its columns: user, password and, if you want them,
    /// client_id and topic
    #[arg(long, value_name = "FILE", conflicts_with_all = ["user", "password", "password_file"], help_heading = "Connections", hide_short_help = true)]
    pub credentials: Option<PathBuf>,

    /// Fetch the resource with GET instead of sending (CoAP, HTTP)
    #[arg(long, conflicts_with_all = ["connect_only", "reconnect_storm", "subscribers"], help_heading = "Messages", hide_short_help = true)]
    pub get: bool,

    /// Connect and close, again and again, to measure handshakes; --rate is the rate of handshakes, --start selects how
    /// they start
    #[arg(long, conflicts_with_all = ["reconnect_storm", "subscribers", "retain", "inflight", "size", "readings", "encoding", "compression",
        "payload_file", "payload_template", "connect_rate"], help_heading = "Connections")]
    pub connect_only: bool,

    /// Connect, stay connected for --duration, lose all connections at one instant, and reconnect. No messages are
    /// sent, and --connect-rate is the only rate
    #[arg(long, conflicts_with_all = NO_STORM, help_heading = "Connections")]
    pub reconnect_storm: bool,

    /// First and longest wait before a reconnect; the wait doubles after each failure: 1s..30s, or 0s for none
    #[arg(long, value_name = "FIRST..LAST", default_value = "1s..30s", requires = "reconnect_storm", conflicts_with_all = NO_STORM,
        value_parser = backoff, allow_hyphen_values = true, help_heading = "Connections", hide_short_help = true)]
    pub backoff: Backoff,

    /// Wait for the full back-off instead of a random part of it
    #[arg(long, requires = "reconnect_storm", conflicts_with_all = NO_STORM, help_heading = "Connections", hide_short_help = true)]
    pub no_jitter: bool,

    /// Time after which a device that has not reconnected has failed
    #[arg(long, value_name = "TIME", default_value = "120s", requires = "reconnect_storm", conflicts_with_all = NO_STORM,
        value_parser = parse_duration, allow_hyphen_values = true, help_heading = "Connections", hide_short_help = true)]
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
