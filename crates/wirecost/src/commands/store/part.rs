//! The two endpoints of one loop: a subscriber of the broker, and a client of the store.

use std::convert::Infallible;

use wirecost_mqtt::client as mqtt;
use wirecost_proto::{Buffer, Endpoint, Input, Instant, Output};
use wirecost_security::layer;
use wirecost_security::tls;
use wirecost_store::client as store;

/// An endpoint.
pub(super) enum Part {
    Broker(Box<mqtt::Client>),
    /// The subscriber within TLS.
    Secure(Box<tls::Client<mqtt::Client>>),
    Store(Box<store::Client>),
}

/// A command to an endpoint of its kind. Another one ignores it.
#[derive(Debug)]
pub(super) enum Command {
    Broker(mqtt::Command),
    Store(store::Command),
}

/// An event of an endpoint.
#[derive(Debug)]
pub(super) enum Event {
    Broker(mqtt::Event),
    Secure(layer::Event<mqtt::Event>),
    Store(store::Event),
}

impl Endpoint for Part {
    type Command = Command;
    type Event = Event;
    type Error = Infallible;

    fn handle_input(&mut self, input: Input<'_, Command>, now: Instant) -> Result<(), Infallible> {
        match (self, input) {
            (Self::Broker(client), Input::Command(Command::Broker(command))) => {
                client.handle_input(Input::Command(command), now)
            }
            (Self::Secure(client), Input::Command(Command::Broker(command))) => {
                client.handle_input(Input::Command(command), now)
            }
            (Self::Store(client), Input::Command(Command::Store(command))) => {
                client.handle_input(Input::Command(command), now)
            }
            (Self::Broker(client), input) => {
                let input = input.without_command();
                input.map_or(Ok(()), |input| client.handle_input(input, now))
            }
            (Self::Secure(client), input) => {
                let input = input.without_command();
                input.map_or(Ok(()), |input| client.handle_input(input, now))
            }
            (Self::Store(client), input) => {
                let input = input.without_command();
                input.map_or(Ok(()), |input| client.handle_input(input, now))
            }
        }
    }

    fn poll_output(&mut self, out: &mut Buffer) -> Output<Event> {
        match self {
            Self::Broker(client) => client.poll_output(out).map_event(Event::Broker),
            Self::Secure(client) => client.poll_output(out).map_event(Event::Secure),
            Self::Store(client) => client.poll_output(out).map_event(Event::Store),
        }
    }
}
