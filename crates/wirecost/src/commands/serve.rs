//! `wirecost serve`: runs one of the built-in servers.

mod files;
mod security;
mod workers;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::Duration;

use wirecost_live::Clock;
use wirecost_live::driver::server::ServerLoop;
use wirecost_live::environment::OpenFiles;
use wirecost_live::limits;
use wirecost_live::signals::Interrupt;
use wirecost_proto::Instant;
use wirecost_proto::driver::{Ended, Service, ServiceObserver};
use wirecost_security::KeyLog;
use wirecost_security::certificate::Chain;
use wirecost_security::entropy::Entropy;
use wirecost_stack::channels::{ChannelOptions, ServerChannels};
use wirecost_stack::server::{Clients, Server, ServerEvent};
use wirecost_stack::{Admission, Application, Channel, Stack};
use wirecost_store::Store;

use self::files::{AuthorityFile, KeyFile};
use self::security::Admitted;
use self::workers::{Share, Told, Workers};
use crate::arguments::{Protocol, ServeArguments};
use crate::exit::{self, Failure};
use crate::output;

/// How often the command checks for its end, and writes secrets.
const PAUSE: Duration = Duration::from_millis(20);

/// Runs the command until it is interrupted.
pub fn run(arguments: &ServeArguments) -> Result<ExitCode, Failure> {
    let interrupt = Interrupt::install()?;
    // Each client is a file descriptor, and the soft limit is usually 1,024.
    OpenFiles::raise().map_err(Failure::internal)?;
    // What a client held is of use to others, not to the allocator.
    limits::spare_memory();
    let stack = stack_for(arguments)?;
    let share = arguments.worker.then(Share::read).transpose()?;
    let address = match &share {
        Some(share) => share.address,
        None => address(arguments, stack)?,
    };
    // A worker is one of these processes.
    let processes = workers::needed(arguments, stack)?;
    let clock = Clock::start();
    let given = share.as_ref().and_then(|share| share.identity.clone());
    let users = match &share {
        Some(share) => share.users.clone(),
        None => security::users(arguments)?,
    };
    let Admitted {
        admission,
        authority,
        has_raw_keys,
    } = security::admitted(arguments, stack, address.ip(), clock.epoch(), given, users)?;
    let told = Told {
        identity: admission.identity.clone(),
        users: admission.users.clone(),
    };
    let key_log = arguments.keylog.as_ref().map(|_| KeyLog::new());
    let key_file = arguments.keylog.as_deref().zip(key_log.clone());
    let key_file = key_file.map(|(path, log)| KeyFile::open(path, log)).transpose()?;
    let service = Service {
        address,
        transport: stack.transport(),
        endpoint: endpoint(arguments, stack, admission, key_log.unwrap_or_default(), clock)?,
    };
    let server = listening(arguments, service, clock, processes)?;
    if let Some(share) = share {
        Share::ready();
        return serve(server, key_file, || Ok(!share.is_over.load(Ordering::Relaxed)));
    }
    // With port 0 only the kernel knows the port; workers share it.
    let address = server.address().unwrap_or(address);
    let mut workers = Workers::start(processes - 1, address, &told)?;
    let authority = authority_file(arguments, authority)?;
    if !arguments.quiet {
        let protection = security::described(arguments, stack, has_raw_keys);
        announce(arguments, stack, address, (&protection, authority.as_ref()));
        if processes > 1 {
            output::note(workers::note(processes, stack));
        }
    }
    let served = serve(server, key_file, || {
        workers.check()?;
        Ok(!interrupt.is_set())
    });
    workers.stop()?;
    served
}

/// The listening server, which is one of `processes`.
fn listening(
    arguments: &ServeArguments,
    service: Service<Server>,
    clock: Clock,
    processes: u32,
) -> Result<ServerLoop<Server, Log>, Failure> {
    let quiet = arguments.quiet;
    let server = match processes {
        1 => ServerLoop::new(vec![service], clock, Log { quiet }, false),
        _ => ServerLoop::sharing_ports(vec![service], clock, Log { quiet }),
    };
    let server = server.map_err(|error| Failure::cannot_listen(&error, error.kind(), "--listen"))?;
    let server = server.with_budget(budget(arguments));
    Ok(match arguments.connections {
        Some(connections) => server.with_max_peers(connections as usize),
        None => server,
    })
}

/// The stack of the server, with its protection.
fn stack_for(arguments: &ServeArguments) -> Result<Stack, Failure> {
    let plain = stack_of(arguments.protocol);
    let channel = security::channel(arguments, plain.application)?;
    let stack = Stack { channel, ..plain };
    security::check(arguments, stack)?;
    Ok(stack)
}

fn address(arguments: &ServeArguments, stack: Stack) -> Result<SocketAddr, Failure> {
    let loopback = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), stack.port());
    let address = arguments.listen.unwrap_or(loopback);
    // Whoever reaches an open broker can read and write all topics: that has to be asked for.
    if address.ip().is_loopback() || arguments.open || security::asks_clients(arguments) {
        return Ok(address);
    }
    let message =
        format_args!("{address} can be reached from the network, and this server accepts any client");
    let hint = format!(
        "require credentials ({}), or add --open to accept any client",
        security::ways_to_ask(stack)
    );
    Err(Failure::usage(message).with_hint(hint))
}

fn endpoint(
    arguments: &ServeArguments,
    stack: Stack,
    admission: Admission,
    key_log: KeyLog,
    clock: Clock,
) -> Result<Server, Failure> {
    let is_open = |address: SocketAddr| !address.ip().is_loopback();
    let options = ChannelOptions {
        accept_early_data: arguments.accept_0rtt,
        // RFC 9147 section 5.1: otherwise a client with a forged address makes the server send its certificate there.
        dtls_cookie: arguments.listen.is_some_and(is_open),
        ..ChannelOptions::default()
    };
    let channels = ServerChannels::admitting(admission, clock.epoch(), key_log, options);
    // The connection ids of QUIC must not be predictable.
    let seed = random()?;
    // A quarter is left for what connections hold, so that clients can connect and send although everything is stored that
    // may be.
    let stored_bytes = Some(budget(arguments) / 4 * 3);
    Server::new(stack, Clients::Anyone { stored_bytes }, &channels, seed).map_err(Failure::usage)
}

/// The limit of what the server holds for all clients together, in bytes.
fn budget(arguments: &ServeArguments) -> usize {
    usize::try_from(arguments.max_held.bytes()).unwrap_or(usize::MAX)
}

/// An unpredictable number.
fn random() -> Result<u64, Failure> {
    let mut bytes = [0; 8];
    Entropy::system().fill(&mut bytes).map_err(Failure::internal)?;
    Ok(u64::from_be_bytes(bytes))
}

/// Writes the authority of a generated certificate to the requested file, or to the one that the example names.
fn authority_file(
    arguments: &ServeArguments,
    authority: Option<String>,
) -> Result<Option<AuthorityFile>, Failure> {
    let asked = arguments.ca_out.as_deref();
    let authority = authority.filter(|_| asked.is_some() || !arguments.quiet);
    authority.map(|pem| AuthorityFile::write(asked, &pem)).transpose()
}

fn announce(
    arguments: &ServeArguments,
    stack: Stack,
    address: SocketAddr,
    (protection, authority): (&str, Option<&AuthorityFile>),
) {
    let is_in_the_clear = !arguments.user.is_empty() && stack.channel == Channel::Plain;
    if is_in_the_clear && !address.ip().is_loopback() {
        output::note("passwords cross the network as they are: --tls hides them");
    }
    output::note(format_args!(
        "serving {} on {address} with {protection}; Ctrl-C ends it",
        name(arguments.protocol),
    ));
    if let Some(AuthorityFile { path, .. }) = authority {
        output::note(format_args!(
            "clients trust {}: {}",
            path.display(),
            match arguments.chain {
                // The clients of the examples have no option for it.
                Chain::RawPublicKey => format!("wirecost probe --cacert {} URL", path.display()),
                _ => example(arguments.protocol, path, address),
            }
        ));
    }
    if !arguments.oscore.is_empty() {
        // RFC 8613, section 7.5: a server that forgets its sequence numbers must not use the keys again.
        output::note("use each OSCORE secret for one run: its sequence numbers are forgotten at the end");
    }
}

/// A command of a common client that trusts the authority.
fn example(protocol: Protocol, authority: &Path, address: SocketAddr) -> String {
    let address = match address.ip() {
        // 0.0.0.0 is no address that one connects to.
        ip if ip.is_unspecified() => format!("localhost:{}", address.port()),
        _ => address.to_string(),
    };
    let (host, port) = address.rsplit_once(':').unwrap_or_default();
    let host = host.trim_matches(['[', ']']);
    let file = authority.display();
    match protocol {
        Protocol::Mqtt => format!("mosquitto_pub --cafile {file} -h {host} -p {port} -t test -m hello"),
        Protocol::Coap => format!("coap-client-openssl -R {file} coaps://{address}/test"),
        Protocol::CoapTcp => format!("coap-client-openssl -R {file} coaps+tcp://{address}/test"),
        Protocol::Amqp => {
            format!("SSLDomain.set_trusted_ca_db(\"{file}\") in Proton, then amqps://{address}")
        }
        Protocol::Http1 => format!("curl --cacert {file} https://{address}/test"),
        Protocol::Http3 => format!("curl --http3-only --cacert {file} https://{address}/test"),
        Protocol::Tcp | Protocol::Postgres | Protocol::Mariadb | Protocol::Mongodb => {
            format!("openssl s_client -CAfile {file} -connect {address}")
        }
        Protocol::Udp | Protocol::MqttSn => {
            format!("openssl s_client -dtls -CAfile {file} -connect {address}")
        }
    }
}

/// Serves until the user interrupts, or a worker's input ends.
fn serve(
    server: ServerLoop<Server, Log>,
    mut key_file: Option<KeyFile>,
    mut goes_on: impl FnMut() -> Result<bool, Failure>,
) -> Result<ExitCode, Failure> {
    let stop = server.stopper();
    let serving = std::thread::spawn(move || server.run());
    while goes_on()? && !serving.is_finished() {
        std::thread::sleep(PAUSE);
        key_file.as_mut().map_or(Ok(()), KeyFile::write)?;
    }
    // A loop that has ended cannot be woken and need not be.
    drop(stop.wake());
    let ended = serving.join();
    // What was negotiated since the last look, or the capture of the last connection could not be decrypted.
    key_file.as_mut().map_or(Ok(()), KeyFile::write)?;
    match ended {
        Ok(Ok(finished)) => {
            finished.observer.say_dropped(&finished.services);
            Ok(ExitCode::from(exit::OK))
        }
        Ok(Err(error)) => Err(Failure::internal(error)),
        Err(_) => Err(Failure::internal(
            "the server thread panicked; please report this",
        )),
    }
}

/// The unprotected stack of a protocol.
pub const fn stack_of(protocol: Protocol) -> Stack {
    let application = match protocol {
        Protocol::Mqtt => Application::Mqtt5(1),
        Protocol::MqttSn => Application::MqttSn(1),
        Protocol::Coap => Application::CoapCon,
        Protocol::CoapTcp => Application::CoapTcp,
        Protocol::Amqp => Application::AmqpUnsettled,
        Protocol::Http1 => Application::Http1,
        Protocol::Http3 => Application::Http3,
        Protocol::Tcp => Application::Tcp,
        Protocol::Udp => Application::Udp,
        Protocol::Postgres => Application::Store(Store::Postgres),
        Protocol::Mariadb => Application::Store(Store::Mariadb),
        Protocol::Mongodb => Application::Store(Store::Mongodb),
    };
    Stack::plain(application)
}

const fn name(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Mqtt => "MQTT",
        Protocol::MqttSn => "MQTT-SN",
        Protocol::Coap => "CoAP",
        Protocol::CoapTcp => "CoAP over TCP",
        Protocol::Amqp => "AMQP 1.0",
        Protocol::Http1 => "HTTP/1.1",
        Protocol::Http3 => "HTTP/3",
        Protocol::Tcp => "bare TCP",
        Protocol::Udp => "bare UDP",
        Protocol::Postgres => "PostgreSQL",
        Protocol::Mariadb => "MariaDB",
        Protocol::Mongodb => "MongoDB",
    }
}

/// Prints the server's events to stderr.
struct Log {
    quiet: bool,
}

impl Log {
    /// Prints how many messages the broker has dropped, if any.
    fn say_dropped(&self, services: &[Service<Server>]) {
        let stats = services
            .iter()
            .find_map(|service| service.endpoint.broker_stats());
        let Some(stats) = stats.filter(|_| !self.quiet) else {
            return;
        };
        let (session, broker) = (stats.dropped_queue_full, stats.dropped_memory_full);
        if session + broker > 0 {
            output::note(format_args!(
                "dropped {} messages for clients that took less than came for them: {session} at the limit of a session, \
                 {broker} at that of the broker (--max-held)",
                session + broker
            ));
        }
    }
}

impl ServiceObserver<Server> for Log {
    fn event(&mut self, _: usize, peer: Option<SocketAddr>, event: ServerEvent, now: Instant) {
        if self.quiet {
            return;
        }
        let from = peer.map(|peer| peer.to_string()).unwrap_or_default();
        output::note(format_args!("{now} {from} {}", described(&event)));
    }

    fn ended(&mut self, peer: SocketAddr, held_bytes: usize, why: Ended) {
        if self.quiet {
            return;
        }
        let held = held_bytes as f64 / 1e6;
        match why {
            Ended::LargestHolder => output::note(format_args!(
                "{peer} ended: it held {held:.1} MB, more than any other client, and all together held more than --max-held"
            )),
            Ended::Stalled(time) => output::note(format_args!(
                "{peer} ended: its message was incomplete, or answers were unread, and nothing moved for {} s",
                time.as_secs()
            )),
            Ended::Silent(time) => output::note(format_args!(
                "{peer} ended: it said nothing for {} s, and another connection needs its descriptor",
                time.as_secs()
            )),
        }
    }
}

fn described(event: &ServerEvent) -> String {
    match event {
        ServerEvent::Bare(event) => format!("{event:?}"),
        ServerEvent::Mqtt(event) => format!("{event:?}"),
        ServerEvent::MqttSn(event) => format!("{event:?}"),
        ServerEvent::Coap(event) => format!("{event:?}"),
        ServerEvent::Amqp(event) => format!("{event:?}"),
        ServerEvent::Http(event) => format!("{event:?}"),
        ServerEvent::Store(event) => format!("{event:?}"),
        ServerEvent::Established { start, .. } => format!("handshake complete, {start}"),
        ServerEvent::EarlyData { bytes, .. } => format!("{bytes} B early (may be replayed)"),
        ServerEvent::Failed { fault, .. } => format!("security failed: {fault}"),
    }
}
