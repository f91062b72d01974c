//! The output of servers that have a service time.
//!
//! An endpoint takes its input at once. Its output about the messages in that input waits until the workers have finished them.
//! The output of one flow stays in order.

use std::net::SocketAddr;

use wirecost_proto::director::Director;
use wirecost_proto::driver::Observer;
use wirecost_proto::path::Links;
use wirecost_proto::{Buffer, Endpoint, FlowId, Input, Instant, Output};

use super::World;
use crate::queue::What;
use crate::tap::Tap;

/// An output of a service on a flow.
#[derive(Debug)]
pub(super) struct Saying {
    flow: FlowId,
    said: Said,
    /// When the messages are finished that the output is about; `None` where it is about none.
    done: Option<Instant>,
}

#[derive(Debug)]
enum Said {
    Bytes(Buffer),
    Close { reset: bool },
}

/// An output that waits for its time.
#[derive(Debug)]
pub(super) struct Held {
    service: usize,
    flow: FlowId,
    said: Said,
}

impl<C, D, S, L, T, O> World<C, D, S, L, T, O>
where
    C: Endpoint<Error: std::fmt::Display>,
    D: Director<C>,
    S: Endpoint<Error: std::fmt::Display>,
    L: Links,
    T: Tap,
    O: Observer<S>,
{
    /// Keeps an output of a service, and gives the message that an event reports to the workers.
    pub(super) fn note_said(
        &mut self,
        service: usize,
        peer: Option<SocketAddr>,
        said: Output<S::Event>,
        received: &[u8],
        out: &Buffer,
    ) {
        let now = self.network.now;
        match said {
            Output::Transmit { flow } => self.note_saying(flow, Said::Bytes(out.clone())),
            Output::Close { flow, reset } => self.note_saying(flow, Said::Close { reset }),
            Output::Consumed { flow } => self.note_service_consumed(service, flow, received, out),
            Output::Event(event) => {
                if let Some(workers) = self.workers.as_mut().filter(|_| self.observer.is_work(&event)) {
                    let done = Some(workers.take(now));
                    // An endpoint may answer before it reports the message.
                    let before = self.sayings.iter_mut().filter(|saying| saying.done.is_none());
                    before.for_each(|saying| saying.done = done);
                    self.done = self.done.max(done);
                }
                self.observer.event(service, peer, event, now);
            }
            Output::Timeout(_) => {}
        }
    }

    fn note_saying(&mut self, flow: FlowId, said: Said) {
        self.sayings.push(Saying {
            flow,
            said,
            done: self.done,
        });
    }

    /// Hands out the outputs that were kept, each when its messages are finished.
    pub(super) fn say_noted(&mut self, service: usize) {
        self.done = None;
        if self.sayings.is_empty() {
            return;
        }
        let now = self.network.now;
        let mut sayings = std::mem::take(&mut self.sayings);
        for Saying { flow, said, done } in sayings.drain(..) {
            let Some(end) = self.server_end_mut(service, flow) else {
                continue;
            };
            let (at, before) = (done.unwrap_or(now).max(end.says_until), end.says_until);
            end.says_until = at;
            let held = Held { service, flow, said };
            // An earlier output of the flow may still wait for its turn at this instant.
            if at > now || before >= now && before > Instant::START {
                let held = self.held.insert(held);
                self.network.queue.push(at, What::Served { held });
            } else {
                self.say(held);
            }
        }
        // The allocation is used again, unless more outputs were kept meanwhile.
        if self.sayings.is_empty() {
            self.sayings = sayings;
        }
    }

    /// Hands out an output whose time has come.
    pub(super) fn say_held(&mut self, number: u32) {
        if let Some(held) = self.held.remove(number) {
            self.say(held);
        }
    }

    fn say(&mut self, held: Held) {
        let Held { service, flow, said } = held;
        match said {
            Said::Bytes(bytes) => {
                if self.service_transmits(service, flow, &bytes) {
                    let number = self.flow_of(service, flow);
                    self.service_input(service, number, Input::Congested { flow }, &[]);
                }
            }
            Said::Close { reset } => self.close_service_flow(service, flow, reset),
        }
    }
}
