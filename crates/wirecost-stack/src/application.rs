//! A protocol's client with the commands of every stack and the events that its user wants.

use std::convert::Infallible;
use std::marker::PhantomData;

use wirecost_amqp::client as amqp;
use wirecost_coap::client as coap;
use wirecost_http::{client as http, http1, http3};
use wirecost_mqtt::client as mqtt;
use wirecost_mqtt::codec::ReasonCode;
use wirecost_mqtt::sn::client as sn;
use wirecost_proto::{Buffer, Endpoint, Input, Instant, Output, bare};
use wirecost_store::client as store;

use super::error::CommandError;
use super::events::{ClientEvent, SUBSCRIPTION};
use super::message::{Message, Template};
use super::{Command, Outgoing};

/// A protocol's client, with the message that it sends where it has one of its own.
pub(super) struct ApplicationClient<E> {
    protocol: Protocol,
    message: Option<Box<Message>>,
    events: PhantomData<fn() -> E>,
}

/// A protocol's client of the type `C`, known by its methods alone. A crate that ends a client would otherwise compile how each protocol
/// ends: a third of the code of the load engine was that.
type Erased<C> =
    Box<dyn ProtocolClient<Command = <C as Endpoint>::Command, Event = <C as Endpoint>::Event> + Send>;

/// What a stack asks of every protocol's client.
pub(super) trait ProtocolClient: Endpoint<Error = Infallible> {
    /// What the client ignored last, because it answers nothing that was asked.
    fn last_ignored(&self) -> Option<String> {
        None
    }
}

/// A protocol's client.
pub(super) enum Protocol {
    /// Bare TCP or UDP.
    Bare(Erased<bare::Client>),
    /// MQTT 3.1.1 or 5.
    Mqtt(Erased<mqtt::Client>),
    /// MQTT-SN.
    MqttSn(Erased<sn::Client>),
    /// CoAP.
    Coap(Erased<coap::Client>),
    /// AMQP 1.0.
    Amqp(Erased<amqp::Client>),
    /// HTTP/1.1.
    Http1(Erased<http1::Client>),
    /// HTTP/3.
    Http3(Erased<http3::Client>),
    /// A database.
    Store(Erased<store::Client>),
}

impl ProtocolClient for bare::Client {}

impl ProtocolClient for mqtt::Client {
    fn last_ignored(&self) -> Option<String> {
        self.stats().last_unexpected.map(|what| what.to_string())
    }
}

impl ProtocolClient for sn::Client {
    fn last_ignored(&self) -> Option<String> {
        self.stats().last_unexpected.map(|what| what.name().to_owned())
    }
}

impl ProtocolClient for coap::Client {
    fn last_ignored(&self) -> Option<String> {
        self.stats().last_ignored.map(|what| what.to_string())
    }
}

impl ProtocolClient for amqp::Client {
    fn last_ignored(&self) -> Option<String> {
        (self.stats().unexpected_answers > 0)
            .then(|| "a disposition of a delivery that was not sent".to_owned())
    }
}

impl ProtocolClient for http1::Client {}

impl ProtocolClient for http3::Client {}

impl ProtocolClient for store::Client {
    fn last_ignored(&self) -> Option<String> {
        (self.stats().unexpected_answers > 0).then(|| "an answer to no insert".to_owned())
    }
}

impl<E> ApplicationClient<E> {
    /// A client that sends `message` on [`Command::Send`].
    pub(super) const fn new(protocol: Protocol, message: Option<Box<Message>>) -> Self {
        Self {
            protocol,
            message,
            events: PhantomData,
        }
    }

    /// What the client ignored last, because it answers nothing that was asked.
    pub(super) fn last_ignored(&self) -> Option<String> {
        match &self.protocol {
            Protocol::Bare(client) => client.last_ignored(),
            Protocol::Mqtt(client) => client.last_ignored(),
            Protocol::MqttSn(client) => client.last_ignored(),
            Protocol::Coap(client) => client.last_ignored(),
            Protocol::Amqp(client) => client.last_ignored(),
            Protocol::Http1(client) => client.last_ignored(),
            Protocol::Http3(client) => client.last_ignored(),
            Protocol::Store(client) => client.last_ignored(),
        }
    }

    /// The command that sends the client's own message.
    fn own(&mut self, message: u64) -> Result<Command, CommandError> {
        let own = self.message.as_mut().ok_or(CommandError::NoMessage)?;
        let outgoing = own.next()?.into();
        Ok(Command::Transmit { message, outgoing })
    }
}

impl<E: ClientEvent> Endpoint for ApplicationClient<E> {
    type Command = Command;
    type Event = E;
    type Error = CommandError;

    fn handle_input(&mut self, input: Input<'_, Command>, now: Instant) -> Result<(), CommandError> {
        let input = if let Input::Command(Command::Send { message }) = input {
            Input::Command(self.own(message)?)
        } else {
            input
        };
        match &mut self.protocol {
            Protocol::Bare(client) => give(&mut **client, input, bare_command, now),
            Protocol::Mqtt(client) => give(&mut **client, input, mqtt_command, now),
            Protocol::MqttSn(client) => give(&mut **client, input, sn_command, now),
            Protocol::Coap(client) => give(&mut **client, input, coap_command, now),
            Protocol::Amqp(client) => give(&mut **client, input, amqp_command, now),
            Protocol::Http1(client) => give(&mut **client, input, http_command, now),
            Protocol::Http3(client) => give(&mut **client, input, http_command, now),
            Protocol::Store(client) => give(&mut **client, input, store_command, now),
        }
    }

    fn poll_output(&mut self, out: &mut Buffer) -> Output<E> {
        match &mut self.protocol {
            Protocol::Bare(client) => client.poll_output(out).map_event(E::from),
            Protocol::Mqtt(client) => client.poll_output(out).map_event(E::from),
            Protocol::MqttSn(client) => client.poll_output(out).map_event(E::from),
            Protocol::Coap(client) => client.poll_output(out).map_event(E::from),
            Protocol::Amqp(client) => client.poll_output(out).map_event(E::from),
            Protocol::Http1(client) => client.poll_output(out).map_event(E::from),
            Protocol::Http3(client) => client.poll_output(out).map_event(E::from),
            Protocol::Store(client) => client.poll_output(out).map_event(E::from),
        }
    }

    fn rest(&mut self) -> bool {
        match &mut self.protocol {
            Protocol::Bare(client) => client.rest(),
            Protocol::Mqtt(client) => client.rest(),
            Protocol::MqttSn(client) => client.rest(),
            Protocol::Coap(client) => client.rest(),
            Protocol::Amqp(client) => client.rest(),
            Protocol::Http1(client) => client.rest(),
            Protocol::Http3(client) => client.rest(),
            Protocol::Store(client) => client.rest(),
        }
    }
}

/// Hands an input to a protocol's client, a command in the protocol's own form.
fn give<P: Endpoint<Error = Infallible> + ?Sized>(
    client: &mut P,
    input: Input<'_, Command>,
    translate: impl FnOnce(Command) -> Result<P::Command, CommandError>,
    now: Instant,
) -> Result<(), CommandError> {
    let Ok(()) = if let Input::Command(command) = input {
        client.handle_input(Input::Command(translate(command)?), now)
    } else if let Some(input) = input.without_command() {
        client.handle_input(input, now)
    } else {
        Ok(())
    };
    Ok(())
}

/// The error of a protocol that has no such command.
const fn other_protocol(command: &Command) -> CommandError {
    CommandError::OtherProtocol(match command {
        Command::Subscribe(_) => "subscription",
        Command::Send { .. } | Command::Transmit { .. } | Command::Close => "message",
    })
}

fn bare_command(command: Command) -> Result<bare::ClientCommand, CommandError> {
    match command {
        Command::Transmit {
            message,
            outgoing:
                Outgoing {
                    template: Template::Bare(content),
                    ..
                },
        } => Ok(bare::ClientCommand::Send { message, content }),
        Command::Close => Ok(bare::ClientCommand::Close),
        command @ (Command::Send { .. } | Command::Transmit { .. } | Command::Subscribe(_)) => {
            Err(other_protocol(&command))
        }
    }
}

fn mqtt_command(command: Command) -> Result<mqtt::Command, CommandError> {
    match command {
        Command::Transmit {
            message,
            outgoing:
                Outgoing {
                    template: Template::Mqtt(template),
                    stamp,
                },
        } => Ok(mqtt::Command::PublishAs {
            message,
            template,
            stamp,
        }),
        Command::Subscribe(subscription) => subscription.subscribe().map_err(CommandError::Subscription),
        Command::Close => Ok(mqtt::Command::Disconnect(ReasonCode::Success)),
        command @ (Command::Send { .. } | Command::Transmit { .. }) => Err(other_protocol(&command)),
    }
}

fn sn_command(command: Command) -> Result<sn::Command, CommandError> {
    match command {
        Command::Transmit {
            message,
            outgoing:
                Outgoing {
                    template: Template::Mqtt(template),
                    stamp,
                },
        } => Ok(sn::Command::Publish {
            message,
            template,
            stamp,
        }),
        Command::Close => Ok(sn::Command::Disconnect),
        command @ (Command::Send { .. } | Command::Transmit { .. } | Command::Subscribe(_)) => {
            Err(other_protocol(&command))
        }
    }
}

fn coap_command(command: Command) -> Result<coap::Command, CommandError> {
    match command {
        Command::Transmit {
            message,
            outgoing:
                Outgoing {
                    template: Template::Coap(template),
                    ..
                },
        } => Ok(coap::Command::Request { message, template }),
        Command::Subscribe(subscription) => subscription
            .observe(SUBSCRIPTION)
            .map_err(CommandError::Subscription),
        Command::Close => Ok(coap::Command::Close),
        command @ (Command::Send { .. } | Command::Transmit { .. }) => Err(other_protocol(&command)),
    }
}

fn amqp_command(command: Command) -> Result<amqp::Command, CommandError> {
    match command {
        Command::Transmit {
            message,
            outgoing:
                Outgoing {
                    template: Template::Amqp(template),
                    ..
                },
        } => Ok(amqp::Command::Send { message, template }),
        Command::Close => Ok(amqp::Command::Close),
        command @ (Command::Send { .. } | Command::Transmit { .. } | Command::Subscribe(_)) => {
            Err(other_protocol(&command))
        }
    }
}

fn http_command(command: Command) -> Result<http::Command, CommandError> {
    match command {
        Command::Transmit {
            message,
            outgoing:
                Outgoing {
                    template: Template::Http(template),
                    ..
                },
        } => Ok(http::Command::Request { message, template }),
        Command::Close => Ok(http::Command::Close),
        command @ (Command::Send { .. } | Command::Transmit { .. } | Command::Subscribe(_)) => {
            Err(other_protocol(&command))
        }
    }
}

fn store_command(command: Command) -> Result<store::Command, CommandError> {
    match command {
        Command::Transmit {
            message,
            outgoing:
                Outgoing {
                    template: Template::Bare(content),
                    ..
                },
        } => Ok(store::Command::Insert {
            message,
            key: None,
            content,
        }),
        Command::Close => Ok(store::Command::Close),
        command @ (Command::Send { .. } | Command::Transmit { .. } | Command::Subscribe(_)) => {
            Err(other_protocol(&command))
        }
    }
}
