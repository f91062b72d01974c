//! `wirecost store`: takes messages from a broker into a database.

mod aside;
mod asking;
mod dashboard;
mod director;
mod part;
mod way;

use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use wirecost_files::Input;
use wirecost_live::Clock;
use wirecost_live::patience::Patience;
use wirecost_live::signals::Interrupt;
use wirecost_load::targets::server::trusted_authorities;
use wirecost_mqtt::client as mqtt;
use wirecost_mqtt::codec::framing::LARGEST_PACKET;
use wirecost_mqtt::codec::{
    FieldError, OwnedBinary, OwnedText, RetainHandling, SubscriptionOptions, Version,
};
use wirecost_mqtt::quality::QoS;
use wirecost_probe::reach::{self, ReachError, Trial, Waits};
use wirecost_proto::PeerText;
use wirecost_proto::bare::Transport;
use wirecost_security::entropy::Entropy;
use wirecost_security::tls;
use wirecost_stack::url::{Protocol, Url, percent_decoded};
use wirecost_store::client as store;
use wirecost_store::keeper::{Settings, WINDOW};
use wirecost_store::{Column, Store};

use self::dashboard::{Dashboard, Route};
use self::part::Part;
use self::way::{Place, Way, behind, follow, print_counts};
use crate::arguments::{MqttVersion, StoreArguments};
use crate::exit::{self, Failure};
use crate::login::of_variable;
use crate::output;

/// The variable with the password of the broker's user.
const BROKER_PASSWORD: &str = "WIRECOST_BROKER_PASSWORD";

/// How long a name may take to become an address.
const LOOKUP_PATIENCE: Duration = Duration::from_secs(10);
/// How long an insert may wait for its answer.
const INSERT_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a login may take.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the broker keeps messages for a store that is not connected, in seconds: a week.
const SESSION_EXPIRY: u32 = 7 * 24 * 3600;
/// The room for a reading in the number of messages without acknowledgement: as long readings are rare, this many bytes for each are
/// enough.
const BYTES_PER_MESSAGE: u64 = 16 * 1024;
/// The most messages without acknowledgement.
const LARGEST_RECEIVE_MAXIMUM: u64 = 4096;

/// Runs the command.
pub fn run(arguments: &StoreArguments) -> Result<ExitCode, Failure> {
    let behind = arguments
        .behind
        .as_ref()
        .map(|store| behind(arguments, store))
        .transpose()?;
    let clock = Clock::start();
    let interrupt = Interrupt::install()?;
    let mut first = Way::from_place(Place::First, arguments, clock)?;
    let behind = behind.map(|arguments| Way::from_place(Place::Behind, &arguments, clock));
    // Both before either runs: a mistake in the second must not be found when the first has taken readings.
    let behind = behind.transpose()?;
    let dashboard = dashboard(arguments, clock)?;
    first.director.shown = dashboard.as_ref().map(Dashboard::shown);
    let mut directors = follow([first].into_iter().chain(behind), clock, &interrupt)?;
    if let Some(dashboard) = dashboard {
        dashboard.end();
    }
    let failure = directors
        .iter_mut()
        .find_map(|(_, director)| director.failure.take());
    if let Some(failure) = failure {
        return Err(failure);
    }
    for (place, director) in &directors {
        print_counts(*place, director);
    }
    Ok(ExitCode::from(exit::OK))
}

/// The dashboard, if it is asked for, and where it is.
fn dashboard(arguments: &StoreArguments, clock: Clock) -> Result<Option<Dashboard>, Failure> {
    let Some(address) = arguments.dashboard else {
        return Ok(None);
    };
    let route = Route {
        broker: shown(&arguments.broker),
        store: shown(&arguments.store),
    };
    let dashboard = Dashboard::start(address, clock, route);
    let dashboard = dashboard.map_err(|error| {
        Failure::cannot_listen(
            format_args!("{address} for the dashboard: {error}"),
            error.kind(),
            "--dashboard",
        )
    })?;
    let address = dashboard.address();
    if !arguments.quiet {
        output::note(format_args!("the dashboard is at http://{address}/"));
        if !address.ip().is_loopback() {
            output::note(
                "warning: the dashboard is open to the network: whoever reaches this machine can read what devices send",
            );
        }
    }
    Ok(Some(dashboard))
}

/// A URL for a person: without its login, and as it is meant.
fn shown(url: &Url) -> String {
    let (scheme, host, resource) = (url.scheme, url.authority(), percent_decoded(&url.resource));
    PeerText::new(&format!("{scheme}://{host}/{resource}"))
        .as_str()
        .to_owned()
}

/// The kind of store. Refuses URLs of the wrong kind.
fn kind_of(arguments: &StoreArguments) -> Result<Store, Failure> {
    let (broker, store) = (&arguments.broker, &arguments.store);
    if broker.scheme.protocol() != Protocol::Mqtt {
        let message = format!("BROKER must be mqtt:// or mqtts://HOST/FILTER, got {broker}");
        return Err(Failure::usage(message));
    }
    let has_tls = broker.scheme.is_secure() || arguments.store_tls;
    if !has_tls && (arguments.cacert.is_some() || arguments.insecure) {
        let message = "--cacert and --insecure go with a broker or a store over TLS";
        return Err(Failure::usage(message).with_hint("write mqtts://HOST/FILTER, or add --store-tls"));
    }
    let Protocol::Store(kind) = store.scheme.protocol() else {
        let message =
            format!("STORE must be postgres://, mariadb:// or mongodb://HOST/DATABASE, got {store}");
        return Err(Failure::usage(message));
    };
    if store.resource.is_empty() {
        let message = format!("STORE names no database, got {store}");
        return Err(Failure::usage(message).with_hint(format!("write {}://HOST/DATABASE", store.scheme)));
    }
    // PostgreSQL asks for TLS in its own protocol (SSLRequest); the others have no such step here.
    if arguments.store_tls && kind != Store::Postgres {
        return Err(Failure::usage(format!(
            "--store-tls is for postgres://, got {store}"
        )));
    }
    Ok(kind)
}

/// The subscriber, within TLS where the URL says so.
fn subscriber(arguments: &StoreArguments, clock: Clock) -> Result<Part, Failure> {
    let login = arguments.broker.login.as_ref();
    let mut config = mqtt::Config {
        version: version(arguments),
        client_id: text(&client_id(arguments), "--client-id")?,
        clean_start: arguments.clean,
        // The broker keeps what is published while the store is away.
        session_expiry: if arguments.clean { 0 } else { SESSION_EXPIRY },
        // An acknowledgement before the insert would lose the message if the store ended in between.
        acknowledges_on_command: true,
        receive_maximum: receive_maximum(arguments.max_held.bytes()),
        // A longer message would come again at each connection.
        largest_packet: LARGEST_PACKET,
        connect_timeout: ANSWER_TIMEOUT,
        describes_received: false,
        ..mqtt::Config::default()
    };
    if let Some(login) = login {
        let file = arguments.broker_password_file.as_deref();
        config.username = Some(text(&login.user, "user of the broker")?);
        if let Some(password) = password(&login.password, file, BROKER_PASSWORD)? {
            let bytes = OwnedBinary::try_from(password.as_bytes());
            let refused = |error| Failure::usage(format!("password of the broker: {error}"));
            config.password = Some(bytes.map_err(refused)?);
        }
    }
    let client = mqtt::Client::new(config);
    if !arguments.broker.scheme.is_secure() {
        return Ok(Part::Broker(Box::new(client)));
    }
    let config = tls_of(arguments, clock, &arguments.broker.host)?;
    Ok(Part::Secure(Box::new(tls::Client::new(config, client))))
}

const fn version(arguments: &StoreArguments) -> Version {
    match arguments.mqtt {
        MqttVersion::V311 => Version::V3_1_1,
        MqttVersion::V5 => Version::V5,
    }
}

/// The client identifier. A session of the broker belongs to it, and a session has a subscription: so another filter or another
/// database has another identifier. It has at most 23 characters, which every server takes [MQTT-3.1.3-5].
fn client_id(arguments: &StoreArguments) -> String {
    if let Some(id) = &arguments.client_id {
        return id.clone();
    }
    let (broker, store) = (&arguments.broker, &arguments.store);
    let text = [
        &broker.resource,
        store.scheme.name(),
        &store.authority(),
        &store.resource,
    ]
    .join("\n");
    // FNV-1a.
    let hash = text.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    format!("wirecost-store-{hash:08x}")
}

/// How many messages the broker may send before their rows are committed, by the memory for them.
fn receive_maximum(held_bytes: u64) -> u16 {
    let messages = (held_bytes / BYTES_PER_MESSAGE).clamp(WINDOW as u64, LARGEST_RECEIVE_MAXIMUM);
    u16::try_from(messages).unwrap_or(u16::MAX)
}

/// TLS to a host.
fn tls_of(arguments: &StoreArguments, clock: Clock, host: &str) -> Result<tls::ClientConfig, Failure> {
    let config = tls::ClientConfig::new(tls::ClientOptions {
        versions: tls::Versions::Both,
        suites: tls::Suites::Wide,
        handshake_timeout: ANSWER_TIMEOUT,
        ..tls::ClientOptions::new(clock.epoch(), trust(arguments)?, host)
    });
    config.map_err(Failure::usage)
}

/// The servers that are trusted.
fn trust(arguments: &StoreArguments) -> Result<tls::Trust, Failure> {
    let trusted = trusted_authorities(arguments.cacert.as_deref(), arguments.insecure, true);
    let trusted = trusted
        .map_err(|error| Failure::usage(error).with_hint("--cacert takes a file of certificates in PEM"))?;
    match trusted {
        None => Ok(tls::Trust::Anyone),
        // Without a list every server would be refused, and the reason would be looked for at the server.
        Some(authorities) if authorities.is_empty() => Err(Failure::usage(
            "this system has no list of CA certificates to trust",
        )
        .with_hint(
            "install ca-certificates, name a file with --cacert, or take any certificate with --insecure",
        )),
        Some(authorities) => Ok(tls::Trust::Authorities(authorities)),
    }
}

fn text(text: &str, what: &str) -> Result<OwnedText, Failure> {
    text.parse()
        .map_err(|error: FieldError| Failure::usage(format!("{what}: {error}")))
}

fn subscribe(arguments: &StoreArguments) -> Result<mqtt::Command, Failure> {
    let filter = match arguments.broker.resource.as_str() {
        "" => "#".to_owned(),
        filter => percent_decoded(filter),
    };
    let qos = QoS::from_bits(arguments.qos).unwrap_or_default();
    let options = SubscriptionOptions {
        // A subscription that the broker still has brings no retained message again.
        retain_handling: match version(arguments) {
            Version::V3_1_1 => RetainHandling::AtSubscribe,
            Version::V5 => RetainHandling::IfNew,
        },
        ..SubscriptionOptions::of_qos(qos)
    };
    mqtt::Command::subscribe(&filter, options)
        .map_err(|error| Failure::usage(format!("topic filter {filter:?} is ill-formed: {error}")))
}

/// The client of the store, and the settings of what is held for it.
fn client(
    arguments: &StoreArguments,
    kind: Store,
    place: Place,
) -> Result<(store::Client, Settings), Failure> {
    let since_1970 = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    let unix_ms = u64::try_from(since_1970.as_millis()).unwrap_or(u64::MAX);
    let mut nonce = [0; 18];
    Entropy::system().fill(&mut nonce).map_err(Failure::internal)?;
    let name = percent_decoded(&arguments.store.resource);
    let defaults = store::Config::new(kind, name, "");
    let login = arguments.store.login.as_ref();
    let of_url = login.map_or("", |login| login.password.as_str());
    let file = arguments.store_password_file.as_deref();
    let mut setup: Vec<String> = kind.create_table(Column::Json).into_iter().collect();
    let mut sweep = None;
    if let Some(ttl) = arguments.ttl {
        // Every reading would be deleted at once.
        if ttl.is_zero() {
            return Err(Failure::usage("--ttl must be above 0s"));
        }
        let expiry = kind.expiry(ttl);
        setup.extend(expiry.setup);
        sweep = expiry.sweep;
    }
    let config = store::Config {
        user: login.map_or(defaults.user.clone(), |login| login.user.clone()),
        password: password(of_url, file, place.password_variable())?,
        column: Column::Json,
        // The client has no clock: it counts from here.
        unix_ms_at_start: Some(unix_ms),
        setup,
        nonce,
        answer_timeout: ANSWER_TIMEOUT,
        describes_received: false,
        ..defaults
    };
    let settings = Settings {
        held_bytes: usize::try_from(arguments.max_held.bytes()).unwrap_or(usize::MAX),
        broker_keeps: !arguments.clean,
        timeout: INSERT_TIMEOUT,
        sweep,
    };
    Ok((store::Client::new(config), settings))
}

/// The password of a file, of the URL, or of the environment.
fn password(of_url: &str, file: Option<&Path>, variable: &str) -> Result<Option<String>, Failure> {
    if let Some(path) = file {
        let text = Input::Secret.text(path);
        let text =
            text.map_err(|error| Failure::usage(format!("cannot read {}: {error}", path.display())))?;
        return Ok(Some(text.lines().next().unwrap_or_default().to_owned()));
    }
    if !of_url.is_empty() {
        return Ok(Some(of_url.to_owned()));
    }
    of_variable(variable)
}

/// The address of the `part` that a URL names: of several, the first one that accepts a connection.
fn address(url: &Url, part: &str) -> Result<SocketAddr, Failure> {
    let server = reach::Server {
        host: &url.host,
        port: url.port,
        transport: Transport::Stream,
    };
    let patience = Patience::at_most(LOOKUP_PATIENCE);
    let waits = Waits {
        resolver: patience,
        connect: patience,
    };
    let reached = reach::reach(server, Trial::OfSeveral, waits).map_err(|error| match error {
        ReachError::Name(error) => Failure::new(exit::UNREACHABLE, error),
        ReachError::Unaccepted(why) => {
            Failure::new(exit::UNREACHABLE, format!("cannot use the {part}: {why}"))
                .with_hint(format!("check the {part}'s URL: wirecost probe shows every step"))
        }
    })?;
    Ok(reached.address)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::{Arguments, Command};

    fn id(words: &str) -> String {
        let words = ["wirecost", "store"].into_iter().chain(words.split(' '));
        match Arguments::from_words(words).expect("a command line").command {
            Command::Store(arguments) => client_id(&arguments),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_session_of_the_broker_belongs_to_a_filter_and_a_database() {
        let first = id("mqtt://a/s/%23 postgres://u@h/readings");
        assert_eq!(first.len(), 23, "{first}");
        // The broker's address, and logins, are no part of it: a broker may move.
        assert_eq!(first, id("mqtt://b/s/%23 postgres://v@h/readings"));
        let others = [
            "mqtt://a/t/%23 postgres://u@h/readings",
            "mqtt://a/s/%23 postgres://u@h/others",
            "mqtt://a/s/%23 mariadb://u@h/readings",
            "mqtt://a/s/%23 postgres://u@i/readings",
        ];
        assert!(others.iter().all(|other| id(other) != first));
        assert_eq!(id("mqtt://a postgres://h/readings --client-id mine"), "mine");
    }

    #[test]
    fn messages_without_acknowledgement_are_bounded_by_the_memory_for_them() {
        assert_eq!(receive_maximum(0), 64);
        assert_eq!(receive_maximum(16_000_000), 976);
        assert_eq!(receive_maximum(u64::MAX), 4096);
    }
}
