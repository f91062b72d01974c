//! What the benches of the stacks share: nanoseconds and allocations per message, of a client and a server that
//! hand each other their bytes with nothing between.
//!
//! `--test` runs a handful of messages; `--messages N NAME` runs exactly N of the case so named without a clock, for
//! a counter of instructions; a word alone chooses the cases whose name contains it.

#![allow(clippy::disallowed_macros, reason = "a bench prints its figures")]

mod allocator;

use std::time::Duration;

use wirecost_proto::{Buffer, Endpoint, FlowId, Input, Instant, Output};

#[allow(unused_imports, reason = "not every bench asks for both")]
pub(crate) use allocator::{allocations, held_bytes};

/// Payload of every message, in bytes.
pub(crate) const PAYLOAD: [u8; 128] = [7; 128];

/// How much is run.
enum Effort {
    Full,
    Smoke,
    Messages(u64),
}

/// Runs the cases that the command line chooses, and prints a row for each.
pub(crate) struct Bench {
    effort: Effort,
    filter: Option<String>,
    baseline: Option<f64>,
}

/// Messages before anything is counted: buffers have grown and memories of duplicates are full by then.
const WARM_UP: u64 = 1_000;
/// Batches whose median and spread are told.
const BATCHES: usize = 15;
const BATCH_TIME: Duration = Duration::from_millis(20);

impl Bench {
    /// A bench as the command line wants it, its heading printed.
    pub(crate) fn from_arguments() -> Self {
        let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
        let (mut effort, mut filter) = (Effort::Full, None);
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--test" => effort = Effort::Smoke,
                "--messages" => {
                    let number = arguments.next().and_then(|number| number.parse().ok());
                    effort = Effort::Messages(number.expect("--messages takes a number"));
                }
                _ => filter = Some(argument),
            }
        }
        if !matches!(effort, Effort::Messages(_)) {
            println!(
                "{:<34} {:>8} {:>17} {:>12} {:>7}",
                "message", "ns", "spread", "allocations", "ratio"
            );
        }
        Self {
            effort,
            filter,
            baseline: None,
        }
    }

    /// Measures one of our stacks, which must not allocate.
    ///
    /// # Panics
    /// It allocates in steady state.
    #[allow(dead_code, reason = "some benches measure what allocates")]
    pub(crate) fn ours(&mut self, name: &str, message: impl FnMut()) {
        if let Some(figures) = self.measure(name, message) {
            self.baseline = Some(figures.median);
            print_row(name, &figures, None);
            assert_eq!(
                figures.allocations, 0.0,
                "{name} must not allocate in steady state"
            );
        }
    }

    /// Measures what another implementation needs for the same, as a multiple of ours just before.
    #[allow(dead_code, reason = "not every bench has a peer")]
    pub(crate) fn peer(&mut self, name: &str, message: impl FnMut()) {
        if let Some(figures) = self.measure(name, message) {
            let ratio = self.baseline.map(|baseline| figures.median / baseline);
            print_row(name, &figures, ratio);
        }
    }

    /// A count of instructions is of one case, whose whole name it gives.
    fn is_chosen(&self, name: &str) -> bool {
        match (&self.filter, &self.effort) {
            (None, _) => true,
            (Some(filter), Effort::Messages(_)) => name == filter,
            (Some(filter), _) => name.contains(filter.as_str()),
        }
    }

    fn measure(&self, name: &str, mut message: impl FnMut()) -> Option<Figures> {
        if !self.is_chosen(name) {
            return None;
        }
        match self.effort {
            Effort::Messages(messages) => {
                (0..messages).for_each(|_| message());
                None
            }
            Effort::Smoke => Some(Figures::measure(1, 10, &mut message)),
            Effort::Full => {
                (0..WARM_UP).for_each(|_| message());
                let each = timed(WARM_UP, &mut message);
                let per_batch = (BATCH_TIME.as_nanos() as f64 / each).ceil() as u64;
                Some(Figures::measure(BATCHES, per_batch, &mut message))
            }
        }
    }
}

struct Figures {
    median: f64,
    least: f64,
    most: f64,
    allocations: f64,
}

impl Figures {
    fn measure(batches: usize, per_batch: u64, message: &mut impl FnMut()) -> Self {
        (0..WARM_UP).for_each(|_| message());
        let mut times = Vec::with_capacity(batches);
        let before = allocations();
        for _ in 0..batches {
            times.push(timed(per_batch, message));
        }
        let allocated = allocations() - before;
        times.sort_by(f64::total_cmp);
        Self {
            median: times[batches / 2],
            least: times[0],
            most: times[batches - 1],
            allocations: allocated as f64 / (batches as u64 * per_batch) as f64,
        }
    }
}

/// Nanoseconds per message over so many of them.
#[allow(clippy::disallowed_methods, reason = "a bench reads the clock")]
fn timed(messages: u64, message: &mut impl FnMut()) -> f64 {
    let began = std::time::Instant::now();
    (0..messages).for_each(|_| message());
    began.elapsed().as_nanos() as f64 / messages as f64
}

fn print_row(name: &str, figures: &Figures, ratio: Option<f64>) {
    let Figures {
        median,
        least,
        most,
        allocations,
    } = figures;
    let spread = format!("{least:.0} to {most:.0}");
    let ratio = ratio.map_or(String::new(), |ratio| format!("{ratio:.1}"));
    println!("{name:<34} {median:>8.0} {spread:>17} {allocations:>12.1} {ratio:>7}");
}

/// A client and a server on one flow, and buffers that are kept.
pub(crate) struct Loop<C, S> {
    client: C,
    server: S,
    now: Instant,
    /// Virtual time between two messages.
    step: Duration,
    out: Buffer,
    up: Wire,
    down: Wire,
}

const FLOW: FlowId = FlowId(0);

impl<C: Endpoint, S: Endpoint> Loop<C, S> {
    /// Both connected.
    pub(crate) fn connected(client: C, server: S, step: Duration) -> Self {
        let (up, down) = (Wire::default(), Wire::default());
        let mut this = Self {
            client,
            server,
            now: Instant::START,
            step,
            out: Buffer::new(),
            up,
            down,
        };
        let peer = "192.0.2.1:1".parse().expect("an address");
        let opened = this
            .server
            .handle_input(Input::Opened { flow: FLOW, peer }, this.now);
        assert!(opened.is_ok(), "the server takes a flow");
        this.client_input(Input::Opened { flow: FLOW, peer });
        this.exchange();
        this
    }

    /// One message of the client's, and everything that follows from it on both sides.
    pub(crate) fn message(&mut self, command: C::Command) {
        self.now += self.step;
        self.client_input(Input::Command(command));
        self.exchange();
    }

    fn client_input(&mut self, input: Input<'_, C::Command>) {
        let taken = self.client.handle_input(input, self.now);
        assert!(taken.is_ok(), "the client goes on");
    }

    fn exchange(&mut self) {
        self.up.fill(&mut self.client, &mut self.out);
        while !self.up.is_empty() {
            self.up
                .carry(&mut self.server, self.now, &mut self.out, &mut self.down);
            self.down
                .carry(&mut self.client, self.now, &mut self.out, &mut self.up);
        }
    }
}

/// Transmissions on their way, end to end in one buffer.
#[derive(Default)]
struct Wire {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Wire {
    fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Takes all that `endpoint` has to say.
    fn fill<E: Endpoint>(&mut self, endpoint: &mut E, out: &mut Buffer) {
        loop {
            out.clear();
            match endpoint.poll_output(out) {
                Output::Transmit { .. } => {
                    self.bytes.extend_from_slice(out.bytes());
                    self.ends.push(self.bytes.len());
                }
                Output::Timeout(_) => return,
                _ => {}
            }
        }
    }

    /// Hands everything to `endpoint`, whose answers go into `back`.
    fn carry<E: Endpoint>(&mut self, endpoint: &mut E, now: Instant, out: &mut Buffer, back: &mut Self) {
        let mut start = 0;
        for end in self.ends.drain(..) {
            let bytes = &self.bytes[start..end];
            let taken = endpoint.handle_input(Input::Received { flow: FLOW, bytes }, now);
            assert!(taken.is_ok(), "an endpoint goes on");
            back.fill(endpoint, out);
            start = end;
        }
        self.bytes.clear();
    }
}
