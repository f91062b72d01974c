//! The two endpoints of one loop: a subscriber of the broker, and a client of the store.

use std::convert::Infallible;

use wirecost_mqtt::client as mqtt;
use wirecost_proto::{Buffer, Endpoint, Input, Instant, Output};
use wirecost_security::layer;
use wirecost_security::tls;
use wirecost_store::client as store;

use super::asking::Asking;

/// An endpoint.
pub(super) enum Part {
    Broker(Box<mqtt::Client>),
    /// The subscriber within TLS.
    Secure(Box<tls::Client<mqtt::Client>>),
    Store(Box<store::Client>),
    /// The client of PostgreSQL within TLS.
    SecureStore(Box<Asking<store::Client>>),
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
    SecureStore(layer::Event<store::Event>),
}

fn broker_input(input: Input<'_, Command>) -> Option<Input<'_, mqtt::Command>> {
    match input {
        Input::Command(Command::Broker(command)) => Some(Input::Command(command)),
        input => input.without_command(),
    }
}

fn store_input(input: Input<'_, Command>) -> Option<Input<'_, store::Command>> {
    match input {
        Input::Command(Command::Store(command)) => Some(Input::Command(command)),
        input => input.without_command(),
    }
}

impl Endpoint for Part {
    type Command = Command;
    type Event = Event;
    type Error = Infallible;

    fn handle_input(&mut self, input: Input<'_, Command>, now: Instant) -> Result<(), Infallible> {
        match self {
            Self::Broker(client) => {
                broker_input(input).map_or(Ok(()), |input| client.handle_input(input, now))
            }
            Self::Secure(client) => {
                broker_input(input).map_or(Ok(()), |input| client.handle_input(input, now))
            }
            Self::Store(client) => store_input(input).map_or(Ok(()), |input| client.handle_input(input, now)),
            Self::SecureStore(client) => {
                store_input(input).map_or(Ok(()), |input| client.handle_input(input, now))
            }
        }
    }

    fn poll_output(&mut self, out: &mut Buffer) -> Output<Event> {
        match self {
            Self::Broker(client) => client.poll_output(out).map_event(Event::Broker),
            Self::Secure(client) => client.poll_output(out).map_event(Event::Secure),
            Self::Store(client) => client.poll_output(out).map_event(Event::Store),
            Self::SecureStore(client) => client.poll_output(out).map_event(Event::SecureStore),
        }
    }
}
