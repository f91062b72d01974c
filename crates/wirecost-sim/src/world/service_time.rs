//! The output of servers that have a service time.
//!
//! An endpoint handles its input at once. Its output for the messages in that input waits until the workers have finished
//! them. The output of one flow stays in order.

use std::net::SocketAddr;

use wirecost_proto::director::Director;
use wirecost_proto::driver::ServiceObserver;
use wirecost_proto::{Buffer, Endpoint, FlowId, Input, Instant, Output};

use super::World;
use crate::carrier::Carrier;
use crate::queue::Event;
use crate::tap::Tap;

/// An output of a service on a flow.
#[derive(Debug)]
pub(super) struct PendingOutput {
    flow: FlowId,
    action: Action,
    /// When the messages that the output answers are finished; `None` if it answers none.
    done: Option<Instant>,
}

#[derive(Debug)]
enum Action {
    Bytes(Buffer),
    Close { reset: bool },
}

/// An output that waits for its service time.
#[derive(Debug)]
pub(super) struct DelayedOutput {
    service: usize,
    flow: FlowId,
    action: Action,
}

impl<C, D, S, L, T, O> World<C, D, S, L, T, O>
where
    C: Endpoint<Error: std::fmt::Display>,
    D: Director<C>,
    S: Endpoint<Error: std::fmt::Display>,
    L: Carrier,
    T: Tap,
    O: ServiceObserver<S>,
{
    /// Stores an output of a service, and gives the message that an event reports to the workers.
    pub(super) fn take_output(
        &mut self,
        service: usize,
        peer: Option<SocketAddr>,
        action: Output<S::Event>,
        received: &[u8],
        out: &Buffer,
    ) {
        let now = self.network.now;
        match action {
            Output::Transmit { flow } => self.push_pending(flow, Action::Bytes(out.clone())),
            Output::Close { flow, reset } => self.push_pending(flow, Action::Close { reset }),
            Output::Consumed { flow } => self.note_service_consumed(service, flow, received, out),
            Output::Event(event) => {
                if let Some(workers) = self.workers.as_mut().filter(|_| self.observer.is_work(&event)) {
                    let done = Some(workers.take(now));
                    // An endpoint may answer before it reports the message.
                    let before = self.pending.iter_mut().filter(|output| output.done.is_none());
                    before.for_each(|output| output.done = done);
                    self.done = self.done.max(done);
                }
                self.observer.event(service, peer, event, now);
            }
            Output::Timeout(_) => {}
        }
    }

    fn push_pending(&mut self, flow: FlowId, action: Action) {
        self.pending.push(PendingOutput {
            flow,
            action,
            done: self.done,
        });
    }

    /// Sends the stored outputs, each when its messages are finished.
    pub(super) fn send_pending(&mut self, service: usize) {
        self.done = None;
        if self.pending.is_empty() {
            return;
        }
        let now = self.network.now;
        let mut pending = std::mem::take(&mut self.pending);
        for PendingOutput { flow, action, done } in pending.drain(..) {
            let Some(end) = self.server_end_mut(service, flow) else {
                continue;
            };
            let (at, before) = (done.unwrap_or(now).max(end.last_output_at), end.last_output_at);
            end.last_output_at = at;
            let delayed = DelayedOutput {
                service,
                flow,
                action,
            };
            // An earlier output of the flow may still wait for its turn at this instant.
            if at > now || before >= now && before > Instant::START {
                let delayed = self.delayed.insert(delayed);
                self.network.queue.push(at, Event::ServiceDone { delayed });
            } else {
                self.carry_out(delayed);
            }
        }
        // Reuses the allocation, unless more outputs were stored meanwhile.
        if self.pending.is_empty() {
            self.pending = pending;
        }
    }

    /// Sends an output whose service time has passed.
    pub(super) fn send_delayed(&mut self, number: u32) {
        if let Some(delayed) = self.delayed.remove(number) {
            self.carry_out(delayed);
        }
    }

    fn carry_out(&mut self, delayed: DelayedOutput) {
        let DelayedOutput {
            service,
            flow,
            action,
        } = delayed;
        match action {
            Action::Bytes(bytes) => {
                if self.service_transmits(service, flow, &bytes) {
                    let number = self.flow_of(service, flow);
                    self.service_input(service, number, Input::Congested { flow }, &[]);
                }
            }
            Action::Close { reset } => self.close_service_flow(service, flow, reset),
        }
    }
}
