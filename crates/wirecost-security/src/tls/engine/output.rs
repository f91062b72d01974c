//! The engine's outputs and their order.

use wirecost_proto::{Buffer, Endpoint, FlowId, Input, Instant, Output};

use super::{Engine, Inner, Step};
use crate::layer::Event;
use crate::tls::flow::Stage;

impl<E: Endpoint> Engine<E> {
    /// Returns the next output.
    pub(in crate::tls) fn poll(&mut self, out: &mut Buffer) -> Output<Event<E::Event>> {
        loop {
            let output = if let Some(step) = self.urgent.take() {
                self.step(step, out)
            } else if self.inner_busy {
                self.poll_inner(out)
            } else if let Some(step) = self.steps.pop_front() {
                self.step(step, out)
            } else {
                return Output::Timeout(self.wakes());
            };
            if let Some(output) = output {
                return output;
            }
        }
    }

    /// The next wake-up: at once if a first flight or an error waits.
    fn wakes(&self) -> Option<Instant> {
        if self.withheld.is_some() || self.inner_error.is_some() {
            return Some(self.now);
        }
        let deadline = self.deadlines.first().map(|(deadline, _)| *deadline);
        [deadline, self.inner_wakes].into_iter().flatten().min()
    }

    fn step(
        &mut self,
        step: Step<E::Command, E::Event>,
        out: &mut Buffer,
    ) -> Option<Output<Event<E::Event>>> {
        match step {
            Step::Inner(input) => {
                self.feed(input);
                None
            }
            Step::Send(flow) => self.send(flow, false, out),
            Step::Consumed(flow) => self.consumed(flow, out),
            Step::Report(event) => Some(Output::Event(event)),
            Step::Shutdown(flow) => {
                self.flows.get_mut(&flow)?.close(&mut self.scratch, out);
                self.urgent = Some(Step::Close { flow, reset: false });
                Some(Output::Transmit { flow })
            }
            Step::Close { flow, reset } => {
                if self.flows.get(&flow).is_some_and(|state| state.fin) {
                    self.remove(flow);
                }
                Some(Output::Close { flow, reset })
            }
        }
    }

    fn feed(&mut self, input: Inner<E::Command>) {
        let input = match input {
            Inner::Opened(flow, peer) => Input::Opened { flow, peer },
            Inner::Received(flow, range) => Input::Received {
                flow,
                bytes: self.plain.get(range).unwrap_or_default(),
            },
            Inner::PeerClosed(flow) => Input::PeerClosed { flow },
            Inner::Reset(flow, reason) => Input::Reset { flow, reason },
            Inner::Writable(flow) => Input::Writable { flow },
            Inner::Command(command) => Input::Command(command),
            Inner::Timeout => Input::Timeout,
        };
        match self.inner.handle_input(input, self.now) {
            Ok(()) => self.inner_busy = true,
            Err(error) => self.inner_error = Some(error),
        }
    }

    fn poll_inner(&mut self, out: &mut Buffer) -> Option<Output<Event<E::Event>>> {
        self.inner_out.clear();
        match self.inner.poll_output(&mut self.inner_out) {
            Output::Transmit { flow } => self.send(flow, true, out),
            Output::Consumed { flow } => {
                self.flows.get_mut(&flow)?.consumed(self.inner_out.spans());
                self.consumed(flow, out)
            }
            Output::Close { flow, reset } => {
                self.close(flow, reset);
                None
            }
            Output::Event(event) => Some(Output::Event(Event::Inner(event))),
            Output::Timeout(at) => {
                self.inner_busy = false;
                self.inner_wakes = at;
                None
            }
        }
    }

    /// Sends everything that may be sent, then the inner endpoint's output.
    fn send(&mut self, flow: FlowId, inner: bool, out: &mut Buffer) -> Option<Output<Event<E::Event>>> {
        let state = self.flows.get_mut(&flow)?;
        match state.stage {
            Stage::Closed => return None,
            Stage::Failed => state.flush(&mut self.scratch, out),
            _ => state.send(inner.then_some(&self.inner_out), &mut self.scratch, out),
        }
        (!out.is_empty()).then_some(Output::Transmit { flow })
    }

    fn consumed(&mut self, flow: FlowId, out: &mut Buffer) -> Option<Output<Event<E::Event>>> {
        let known = self.flows.get_mut(&flow)?.drain_consumed(out);
        known.then_some(Output::Consumed { flow })
    }

    /// Closes a flow for the inner endpoint.
    fn close(&mut self, flow: FlowId, reset: bool) {
        let Some(state) = self.flows.get_mut(&flow) else {
            return;
        };
        if reset {
            self.remove(flow);
            self.urgent = Some(Step::Close { flow, reset });
            return;
        }
        match state.stage {
            Stage::Withheld { deadline } | Stage::Handshake { deadline } => {
                state.stage = Stage::Closing { deadline };
            }
            Stage::Open => self.urgent = Some(Step::Shutdown(flow)),
            Stage::Closing { .. } | Stage::Closed | Stage::Failed => {}
        }
    }
}
