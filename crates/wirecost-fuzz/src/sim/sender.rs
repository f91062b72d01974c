//! A device that sends messages, closes, and opens its next flow.

use std::time::Duration;

use wirecost_proto::bare::{Client, ClientCommand, ClientEvent};
use wirecost_proto::script::{Context, Step};
use wirecost_proto::{Content, Instant, ResetReason, Script};

/// How long it waits for packets in transit before it closes a flow.
const LINGERS: Duration = Duration::from_secs(5);

/// How long it waits for the peer's close: an end that gives up sends nothing.
const PATIENCE: Duration = Duration::from_secs(3_600);

/// Sends messages of one size at an interval, on one flow after the other.
#[derive(Clone, Debug)]
pub(super) struct Sender {
    pub(super) bytes: usize,
    pub(super) messages: u32,
    pub(super) interval: Duration,
    pub(super) starts: Instant,
    /// Whether the peer answers a close.
    pub(super) is_stream: bool,
    /// Flows that are still to be opened.
    pub(super) flows: u32,
    /// Messages given to the endpoint, of all flows.
    pub(super) sent: u64,
    /// Whether any flow was lost.
    pub(super) has_failed: bool,
    stage: Stage,
}

/// The state of its flow.
#[derive(Clone, Copy, Debug)]
enum Stage {
    Idle,
    Opening,
    /// Messages sent, and when the next is due.
    Open(u32, Instant),
    /// When it gives up waiting for the peer.
    Closing(Instant),
    /// When it closes the flow.
    Closed(Instant),
}

impl Sender {
    pub(super) const fn new(bytes: usize, messages: u32, interval: Duration) -> Self {
        Self {
            bytes,
            messages,
            interval,
            starts: Instant::START,
            is_stream: true,
            flows: 1,
            sent: 0,
            has_failed: false,
            stage: Stage::Idle,
        }
    }

    fn lose(&mut self) {
        self.has_failed = true;
        self.stage = Stage::Idle;
    }
}

impl Script<Client> for Sender {
    fn event(&mut self, event: ClientEvent, now: Instant) {
        match event {
            ClientEvent::Opened => self.stage = Stage::Open(0, now),
            ClientEvent::Sent { .. } | ClientEvent::TooLong { .. } => {}
            ClientEvent::Closed => self.stage = Stage::Closed(now + LINGERS),
            ClientEvent::Reset(_) => self.lose(),
        }
    }

    fn failed(&mut self, _: ResetReason, _: Instant) {
        self.lose();
    }

    fn flushed(&mut self, _: Instant) {}

    fn next(&mut self, context: Context) -> Step<ClientCommand> {
        let now = context.now;
        match self.stage {
            Stage::Idle if self.flows == 0 => Step::Finished,
            Stage::Idle if now < self.starts => Step::Wait(Some(self.starts)),
            Stage::Idle => {
                self.flows -= 1;
                self.stage = Stage::Opening;
                Step::Connect
            }
            Stage::Opening => Step::Wait(None),
            Stage::Open(sent, _) if sent == self.messages => {
                self.stage = if self.is_stream {
                    Stage::Closing(now + PATIENCE)
                } else {
                    Stage::Closed(now + LINGERS)
                };
                Step::Command(ClientCommand::Close)
            }
            Stage::Open(_, due) if now < due => Step::Wait(Some(due)),
            Stage::Open(..) if context.congested => Step::Wait(None),
            Stage::Open(sent, due) => {
                self.sent += 1;
                self.stage = Stage::Open(sent + 1, due + self.interval);
                Step::Command(ClientCommand::Send {
                    message: 0,
                    content: Content::from(vec![7; self.bytes].as_slice()),
                })
            }
            Stage::Closing(until) | Stage::Closed(until) if now < until => Step::Wait(Some(until)),
            Stage::Closing(_) => {
                self.lose();
                self.next(context)
            }
            Stage::Closed(_) => {
                self.stage = Stage::Idle;
                self.next(context)
            }
        }
    }
}
