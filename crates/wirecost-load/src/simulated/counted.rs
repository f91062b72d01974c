//! A client whose bytes are counted.

use std::sync::Arc;

use wirecost_live::driver::client::Traffic;
use wirecost_proto::{Buffer, Endpoint, Input, Instant, Output};
use wirecost_stack::{Client, Command, Event};

/// A client that counts its bytes as sockets do in a live load.
pub(super) struct Counted {
    pub(super) client: Client,
    pub(super) traffic: Arc<Traffic>,
}

impl Endpoint for Counted {
    type Command = Command;
    type Event = Event;
    type Error = <Client as Endpoint>::Error;

    fn handle_input(&mut self, input: Input<'_, Command>, now: Instant) -> Result<(), Self::Error> {
        if let Input::Received { bytes, .. } = &input {
            self.traffic.add_received(bytes.len());
        }
        self.client.handle_input(input, now)
    }

    fn poll_output(&mut self, out: &mut Buffer) -> Output<Event> {
        let output = self.client.poll_output(out);
        if let Output::Transmit { .. } = &output {
            self.traffic.add_sent(out.bytes().len());
        }
        output
    }

    fn rest(&mut self) -> bool {
        self.client.rest()
    }
}
