//! Devices of a load that send and report bytes, and a director that asks a closure for each reaction.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::ops::ControlFlow;

use wirecost_live::Clock;
use wirecost_live::driver::client::{ClientLoop, LoadDevice, LoopReport};
use wirecost_live::driver::sources::Sources;
use wirecost_proto::bare::Transport;
use wirecost_proto::director::{Director, Due};
use wirecost_proto::script::{Context, Step};
use wirecost_proto::{Buffer, Cause, Endpoint, FlowId, Input, Instant, Layer, Output, Phase, ResetReason};

use crate::rig::watch;

/// Sends the given bytes and reports the received ones.
#[derive(Default)]
pub(crate) struct Pipe {
    flow: Option<FlowId>,
    outputs: VecDeque<Output<Told>>,
    to_send: VecDeque<Vec<u8>>,
    received: VecDeque<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    Opened,
    Received(Vec<u8>),
    Closed,
    Reset(ResetReason),
}

impl Endpoint for Pipe {
    type Command = Vec<u8>;
    type Event = Told;
    type Error = Infallible;

    fn handle_input(&mut self, input: Input<'_, Vec<u8>>, _: Instant) -> Result<(), Infallible> {
        match input {
            Input::Opened { flow, .. } => {
                self.flow = Some(flow);
                self.outputs.push_back(Output::Event(Told::Opened));
            }
            Input::Received { flow, bytes } => {
                self.received.push_back(bytes.len());
                self.outputs.push_back(Output::Consumed { flow });
                self.outputs
                    .push_back(Output::Event(Told::Received(bytes.to_vec())));
            }
            Input::PeerClosed { .. } => self.outputs.push_back(Output::Event(Told::Closed)),
            Input::Reset { reason, .. } => self.outputs.push_back(Output::Event(Told::Reset(reason))),
            Input::Command(bytes) => {
                self.to_send.push_back(bytes);
                let flow = self.flow.expect("opened before it is to send");
                self.outputs.push_back(Output::Transmit { flow });
            }
            Input::Congested { .. } | Input::Writable { .. } | Input::Timeout => {}
        }
        Ok(())
    }

    fn poll_output(&mut self, out: &mut Buffer) -> Output<Told> {
        let (layer, phase, cause) = (Layer::Payload, Phase::Message, Cause::Original);
        let output = self.outputs.pop_front().unwrap_or(Output::Timeout(None));
        match output {
            Output::Transmit { .. } => {
                let bytes = self.to_send.pop_front().expect("one for each transmit");
                out.push(&bytes, layer, phase, cause);
            }
            Output::Consumed { .. } => {
                let len = self.received.pop_front().expect("one for each read");
                out.cover(len, layer, phase, cause);
            }
            _ => {}
        }
        output
    }
}

/// An event of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// The first call for the device.
    Begin,
    /// An event of its endpoint.
    Told(Told),
    /// Everything is sent.
    Sent,
    /// Its socket failed.
    Failed(ResetReason),
    /// No event, but it may continue.
    Asked,
}

/// Asks a closure what a device does after an event.
pub(crate) struct Asking<F> {
    react: F,
    pub(crate) devices: Vec<Seen>,
    named: usize,
}

/// The events of a device.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) all: Vec<What>,
    /// How many of them the closure has handled.
    asked: usize,
    is_finished: bool,
}

impl Seen {
    /// The bytes that it received, end to end.
    pub(crate) fn received(&self) -> Vec<u8> {
        let parts = self.all.iter().filter_map(|what| match what {
            What::Told(Told::Received(bytes)) => Some(bytes.as_slice()),
            _ => None,
        });
        parts.collect::<Vec<_>>().concat()
    }

    pub(crate) fn count(&self, what: &What) -> usize {
        self.all.iter().filter(|it| *it == what).count()
    }
}

impl<F: FnMut(usize, What, Context) -> Step<Vec<u8>>> Director<Pipe> for Asking<F> {
    fn event(&mut self, device: usize, event: Told, _: Instant) {
        self.devices[device].all.push(What::Told(event));
    }

    fn failed(&mut self, device: usize, reason: ResetReason, _: Instant) {
        self.devices[device].all.push(What::Failed(reason));
    }

    fn flushed(&mut self, device: usize, _: Instant) -> bool {
        self.devices[device].all.push(What::Sent);
        true
    }

    fn next(&mut self, device: usize, context: Context) -> Step<Vec<u8>> {
        loop {
            let seen = &mut self.devices[device];
            let what = seen.all.get(seen.asked).cloned();
            seen.asked += usize::from(what.is_some());
            let is_last = what.is_none();
            let step = (self.react)(device, what.unwrap_or(What::Asked), context);
            self.devices[device].is_finished = step == Step::Finished;
            if is_last || !matches!(step, Step::Wait(_)) {
                return step;
            }
        }
    }

    fn due(&mut self, _: Instant) -> Due {
        if self.named == self.devices.len() {
            return Due::Later(None);
        }
        self.devices[self.named].all.push(What::Begin);
        self.named += 1;
        Due::Device(self.named - 1)
    }

    fn woken(&mut self, _: Instant) -> ControlFlow<()> {
        ControlFlow::Break(())
    }

    /// The first byte is the device's number.
    fn route(&mut self, _: usize, datagram: &[u8]) -> Option<usize> {
        datagram.first().map(|device| usize::from(*device))
    }
}

/// Runs devices against `remote` until all are finished.
pub(crate) fn run<F>(
    count: usize,
    transport: Transport,
    remote: SocketAddr,
    sources: Sources,
    react: F,
) -> LoopReport<Asking<F>>
where
    F: FnMut(usize, What, Context) -> Step<Vec<u8>>,
{
    let devices = (0..count).map(|_| LoadDevice {
        endpoint: Pipe::default(),
        transport,
        remote,
    });
    let director = Asking {
        react,
        devices: vec![Seen::default(); count],
        named: 0,
    };
    let devices = ClientLoop::for_load(devices, director, Clock::start(), sources).expect("a loop");
    let done = watch(devices.waker());
    let report = devices.run().expect("no poll fails");
    drop(done);
    let seen = &report.director.devices;
    assert!(
        seen.iter().all(|device| device.is_finished),
        "a device hangs: {seen:?}"
    );
    report
}
