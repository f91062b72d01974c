//! The arguments of `wirecost store`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use wirecost_proto::ByteSize;
use wirecost_proto::units::parse_duration;
use wirecost_stack::url::Url;

use super::probe::MqttVersion;

/// `wirecost store`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "BROKER is mqtt:// or mqtts://USER@HOST/FILTER, STORE is postgres://USER@HOST/DATABASE, mariadb://USER@HOST/DATABASE or \
    mongodb://HOST/DATABASE. Passwords \
    come from WIRECOST_BROKER_PASSWORD, WIRECOST_STORE_PASSWORD and WIRECOST_BEHIND_PASSWORD, or from files. A message is acknowledged to the broker once its row \
    is committed; the broker keeps the rest for the next start. Ctrl-C stores what is held, for at most 10 s, \
    and prints the counts.\n\n\
    Exit codes: 0 ok, 1 output could not be written, 2 usage, 10 the dashboard cannot listen, 11 broker or store unreachable at the start, 12 refused by one of them."
)]
pub struct StoreArguments {
    /// URL of the broker with a topic filter: mqtt://127.0.0.1/sensors/# [default filter: #]
    #[arg(value_name = "BROKER")]
    pub broker: Url,

    /// URL of the database: postgres:///readings
    #[arg(value_name = "STORE")]
    pub store: Url,

    /// URL of a database behind the first one, which gets every reading too and keeps it: postgres://cloud/readings
    #[arg(long, value_name = "STORE")]
    pub behind: Option<Url>,

    /// Delete readings of STORE this long after they were stored [default: they stay]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub ttl: Option<Duration>,

    /// Memory for readings that the store has not acknowledged; what finds no room stays with the broker, or is lost and counted if its QoS is 0
    #[arg(long, value_name = "SIZE", default_value = "64MB")]
    pub max_held: ByteSize,

    /// QoS of the subscription
    #[arg(long, value_name = "QOS", default_value_t = 1, value_parser = clap::value_parser!(u8).range(0..=2))]
    pub qos: u8,

    /// MQTT version
    #[arg(long, value_name = "VERSION", value_enum, default_value = "5")]
    pub mqtt: MqttVersion,

    /// MQTT client identifier, under which the broker keeps messages between runs [default: wirecost-store- and a number of filter and database]
    #[arg(long, value_name = "ID")]
    pub client_id: Option<String>,

    /// Let the broker keep nothing between runs and connections
    #[arg(long)]
    pub clean: bool,

    /// File for readings that the database does not take, as lines of JSON
    #[arg(long, value_name = "FILE", default_value = "wirecost-store-set-aside.jsonl")]
    pub set_aside: PathBuf,

    /// Reach PostgreSQL over TLS, which its server must have
    #[arg(long)]
    pub store_tls: bool,

    /// File with the CA certificates to trust for mqtts:// and --store-tls, in PEM [default: those of the system]
    #[arg(long, value_name = "FILE")]
    pub cacert: Option<PathBuf>,

    /// Accept any certificate of broker and store, for tests only
    #[arg(long, conflicts_with = "cacert")]
    pub insecure: bool,

    /// Show readings and delays as they arrive on a page at this address, e.g. 8080; a port alone is of 127.0.0.1
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = crate::http::address)]
    pub dashboard: Option<SocketAddr>,

    /// File with the password of the broker's user in its first line
    #[arg(long, value_name = "FILE")]
    pub broker_password_file: Option<PathBuf>,

    /// File with the password of the store's user in its first line
    #[arg(long, value_name = "FILE")]
    pub store_password_file: Option<PathBuf>,

    /// Print nothing but the counts at the end
    #[arg(short, long)]
    pub quiet: bool,
}
