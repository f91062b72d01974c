//! `wirecost serve`: one of the built-in servers by itself.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::time::Duration;

use wirecost_lab::stack::channels::{ChannelOptions, ServerChannels};
use wirecost_lab::stack::server::{Clients, Server, ServerEvent};
use wirecost_lab::stack::{Application, Credentials, Stack};
use wirecost_live::Clock;
use wirecost_live::driver::server::{Observer, ServerLoop, Service};
use wirecost_live::environment::OpenFiles;
use wirecost_live::signals::Interrupt;
use wirecost_proto::Instant;

use crate::arguments::{Protocol, ServeArguments};
use crate::exit::{self, Failure};
use crate::output;

/// Runs the command until it is interrupted.
pub fn run(arguments: &ServeArguments) -> Result<ExitCode, Failure> {
    let interrupt = Interrupt::install()?;
    OpenFiles::raise().map_err(|error| Failure::new(exit::INTERNAL, error))?;
    let stack = stack_of(arguments.protocol);
    let loopback = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), stack.port());
    let address = arguments.listen.unwrap_or(loopback);
    if !address.ip().is_loopback() && !arguments.open {
        let message = format!("{address} is open to the network, and this server asks nobody for a password");
        return Err(Failure::usage(message).with_hint("add --open if that is what you want"));
    }
    let clock = Clock::start();
    let credentials =
        Credentials::generate(clock, false).map_err(|error| Failure::new(exit::INTERNAL, error))?;
    let channels = ServerChannels::new(credentials, ChannelOptions::default(), 0);
    let endpoint = Server::new(stack, Clients::Anyone, &channels, 0);
    let service = Service {
        address,
        transport: stack.transport(),
        endpoint: endpoint.map_err(|error| Failure::new(exit::INTERNAL, error))?,
    };
    let server = ServerLoop::new(
        vec![service],
        clock,
        Log {
            quiet: arguments.quiet,
        },
        false,
    );
    let server = server.map_err(|error| cannot_listen(&error))?;
    if !arguments.quiet {
        output::note(format_args!(
            "serving {} on {address}; Ctrl-C ends it",
            name(arguments.protocol)
        ));
    }
    let stop = server.stopper();
    let serving = std::thread::spawn(move || server.run());
    while !interrupt.is_set() && !serving.is_finished() {
        std::thread::sleep(Duration::from_millis(20));
    }
    // A loop that has ended by itself cannot be woken and need not be.
    drop(stop.wake());
    match serving.join() {
        Ok(Ok(_)) => Ok(ExitCode::from(exit::OK)),
        Ok(Err(error)) => Err(Failure::new(exit::INTERNAL, error)),
        Err(_) => Err(Failure::new(
            exit::INTERNAL,
            "the server thread panicked; please report this",
        )),
    }
}

fn cannot_listen(error: &std::io::Error) -> Failure {
    let hint = match error.kind() {
        std::io::ErrorKind::AddrInUse => "another program listens there: choose another port with --listen",
        std::io::ErrorKind::PermissionDenied => {
            "ports below 1024 are root's: choose another one with --listen"
        }
        _ => "choose an address of this machine with --listen",
    };
    Failure::new(exit::PRIVILEGE, format!("cannot listen on {error}")).with_hint(hint)
}

pub const fn stack_of(protocol: Protocol) -> Stack {
    let application = match protocol {
        Protocol::Mqtt => Application::Mqtt5(1),
        Protocol::Coap => Application::CoapCon,
        Protocol::Amqp => Application::AmqpUnsettled,
        Protocol::Http1 => Application::Http1,
        Protocol::Http3 => Application::Http3,
        Protocol::Tcp => Application::Tcp,
        Protocol::Udp => Application::Udp,
    };
    Stack::plain(application)
}

const fn name(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Mqtt => "MQTT",
        Protocol::Coap => "CoAP",
        Protocol::Amqp => "AMQP 1.0",
        Protocol::Http1 => "HTTP/1.1",
        Protocol::Http3 => "HTTP/3",
        Protocol::Tcp => "bare TCP",
        Protocol::Udp => "bare UDP",
    }
}

/// Says on stderr what happens at the server.
struct Log {
    quiet: bool,
}

impl Observer<Server> for Log {
    fn event(&mut self, _: usize, peer: Option<SocketAddr>, event: ServerEvent, now: Instant) {
        if self.quiet {
            return;
        }
        let from = peer.map(|peer| peer.to_string()).unwrap_or_default();
        output::note(format_args!("{now} {from} {}", described(&event)));
    }
}

fn described(event: &ServerEvent) -> String {
    match event {
        ServerEvent::Bare(event) => format!("{event:?}"),
        ServerEvent::Mqtt(event) => format!("{event:?}"),
        ServerEvent::Coap(event) => format!("{event:?}"),
        ServerEvent::Amqp(event) => format!("{event:?}"),
        ServerEvent::Http(event) => format!("{event:?}"),
        ServerEvent::Established { start, .. } => format!("handshake complete, {start}"),
        ServerEvent::EarlyData { bytes, .. } => format!("{bytes} B of early data, which may be replayed"),
        ServerEvent::Failed { fault, .. } => fault.to_string(),
    }
}
