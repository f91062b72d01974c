//! The contract of a sans-IO protocol machine: one function for all input, one for all output.
//!
//! 1. After every [`Endpoint::handle_input`] the driver calls [`Endpoint::poll_output`] until it returns
//!    [`Output::Timeout`]. `now` never goes back. `Timeout(None)` means that only input can wake the endpoint;
//!    waking it early is harmless.
//! 2. The driver hands an empty [`Buffer`] to every `poll_output`. [`Output::Transmit`]: the endpoint appended
//!    bytes with the spans that cover them. On datagrams one `Transmit` is one datagram; on streams its
//!    boundaries mean nothing and the driver may coalesce. [`Output::Consumed`]: the endpoint appended spans
//!    only; they describe the next bytes received on that flow.
//! 3. On datagrams, the endpoint consumes every `Received` whole, by one `Consumed`, even a malformed datagram. On
//!    streams, it consumes a message when the message is complete.
//! 4. An `Err` from `handle_input` ends the endpoint. A fault of one flow closes that flow. The endpoint counts input
//!    that it ignores in its own `stats()`.

use core::fmt;
use core::net::SocketAddr;

use crate::{Buffer, Instant};

/// A TCP connection or a UDP peer, numbered by the driver. A client has one flow, a server many.
///
/// The driver does not reuse a number while the endpoint may hold state for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u32);

impl fmt::Display for FlowId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "flow {}", self.0)
    }
}

/// The address of the other side of a flow.
pub type Peer = SocketAddr;

/// Why a flow ended without a proper close.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ResetReason {
    /// Nothing listens at the peer's address (RST to a SYN, ICMP port unreachable).
    Refused,
    /// The peer sent RST on an established connection.
    ByPeer,
    /// The peer did not answer within the transport's time-out.
    TimedOut,
    /// The network or the host is unreachable.
    Unreachable,
    /// The local host ended the flow.
    Local,
    /// The local host ended the flow, because the peer does not read the answers to its requests.
    Unread,
    /// The local host has no port left for the flow.
    NoPort,
    /// The local host opens no more files, and a flow is one.
    NoFile,
}

impl fmt::Display for ResetReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Refused => "connection refused",
            Self::ByPeer => "connection reset by the peer",
            Self::TimedOut => "connection timed out",
            Self::Unreachable => "network or host unreachable",
            Self::Local => "connection ended by the local host",
            Self::Unread => {
                "connection ended by the local host: the peer does not read the answers to its requests"
            }
            Self::NoPort => "no local port left",
            Self::NoFile => "no more open files allowed",
        })
    }
}

/// The input of an endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input<'a, C> {
    /// A flow is usable: a TCP handshake completed, a UDP socket connected, a first datagram of a new peer.
    Opened {
        /// The new flow.
        flow: FlowId,
        /// Its other side.
        peer: Peer,
    },
    /// Bytes of a stream, or one datagram.
    Received {
        /// The flow that they arrived on.
        flow: FlowId,
        /// The bytes, valid during the call only.
        bytes: &'a [u8],
    },
    /// The driver's unsent bytes of this flow reached its limit ([`UNSENT_LIMIT`](crate::driver::UNSENT_LIMIT)). Until
    /// [`Input::Writable`], the endpoint should keep data in a smaller form than on the wire if it can. The driver still
    /// accepts every `Transmit`. Server drivers send this input, also between two outputs to one input.
    Congested {
        /// The flow.
        flow: FlowId,
    },
    /// The driver's unsent bytes of this flow fell below its limit; the driver accepts commands again.
    Writable {
        /// The flow.
        flow: FlowId,
    },
    /// The peer ended its direction of the stream (FIN).
    PeerClosed {
        /// The flow.
        flow: FlowId,
    },
    /// The flow is gone.
    Reset {
        /// The flow.
        flow: FlowId,
        /// The reason.
        reason: ResetReason,
    },
    /// A command from the endpoint's user.
    Command(C),
    /// The instant of the last [`Output::Timeout`] has come, or the driver woke early.
    Timeout,
}

impl<'a, C> Input<'a, C> {
    /// The same input for an endpoint with other commands; `None` for a command.
    pub fn without_command<D>(self) -> Option<Input<'a, D>> {
        match self {
            Self::Command(_) => None,
            Self::Opened { flow, peer } => Some(Input::Opened { flow, peer }),
            Self::Received { flow, bytes } => Some(Input::Received { flow, bytes }),
            Self::Congested { flow } => Some(Input::Congested { flow }),
            Self::Writable { flow } => Some(Input::Writable { flow }),
            Self::PeerClosed { flow } => Some(Input::PeerClosed { flow }),
            Self::Reset { flow, reason } => Some(Input::Reset { flow, reason }),
            Self::Timeout => Some(Input::Timeout),
        }
    }

    /// The same input with its command translated, for an endpoint that wraps another.
    pub fn map_command<D>(self, translate: impl FnOnce(C) -> D) -> Input<'a, D> {
        match self {
            Self::Opened { flow, peer } => Input::Opened { flow, peer },
            Self::Received { flow, bytes } => Input::Received { flow, bytes },
            Self::Congested { flow } => Input::Congested { flow },
            Self::Writable { flow } => Input::Writable { flow },
            Self::PeerClosed { flow } => Input::PeerClosed { flow },
            Self::Reset { flow, reason } => Input::Reset { flow, reason },
            Self::Command(command) => Input::Command(translate(command)),
            Self::Timeout => Input::Timeout,
        }
    }
}

/// The output of an endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output<E> {
    /// Bytes with their spans were appended to the buffer, for this flow.
    Transmit {
        /// The flow to send them on.
        flow: FlowId,
    },
    /// Spans were appended to the buffer; they describe the next received bytes of this flow.
    Consumed {
        /// The flow that the bytes arrived on.
        flow: FlowId,
    },
    /// Close the flow once its bytes are sent: FIN, or RST where `reset` is set.
    Close {
        /// The flow.
        flow: FlowId,
        /// RST instead of FIN.
        reset: bool,
    },
    /// An event for the endpoint's user.
    Event(E),
    /// No more output now. Wake the endpoint at this instant; `None`: only for input.
    Timeout(Option<Instant>),
}

impl<E> Output<E> {
    /// The same output with its event translated, for an endpoint that wraps another.
    pub fn map_event<F>(self, translate: impl FnOnce(E) -> F) -> Output<F> {
        match self {
            Self::Transmit { flow } => Output::Transmit { flow },
            Self::Consumed { flow } => Output::Consumed { flow },
            Self::Close { flow, reset } => Output::Close { flow, reset },
            Self::Event(event) => Output::Event(translate(event)),
            Self::Timeout(at) => Output::Timeout(at),
        }
    }
}

/// What an endpoint holds for one flow, in addition to what it holds for a flow on which nothing waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Bytes of memory that are free again once the flow ends: incomplete messages, and output that waits.
    pub bytes: usize,
    /// Whether the peer has begun something and not finished it: a message or a handshake.
    pub is_unfinished: bool,
}

impl Held {
    /// An incomplete message of which this many bytes have arrived; nothing if there are none.
    #[must_use]
    pub const fn incomplete(bytes: usize) -> Self {
        Self {
            bytes,
            is_unfinished: bytes > 0,
        }
    }

    /// This, and what a layer or a part of the endpoint holds for the same flow.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            bytes: self.bytes + other.bytes,
            is_unfinished: self.is_unfinished || other.is_unfinished,
        }
    }
}

/// A protocol machine without socket, clock, thread or randomness of its own.
///
/// [`crate::bare`] is the smallest implementation.
pub trait Endpoint {
    /// Its commands.
    type Command;
    /// Its events.
    type Event;
    /// The errors that end it.
    type Error;

    /// Handles one input at `now`.
    ///
    /// # Errors
    /// An error ends the endpoint, not only one flow.
    fn handle_input(&mut self, input: Input<'_, Self::Command>, now: Instant) -> Result<(), Self::Error>;

    /// Returns the next output; call it until it returns [`Output::Timeout`].
    fn poll_output(&mut self, out: &mut Buffer) -> Output<Self::Event>;

    /// Gives back the memory that it only keeps for reuse, if nothing is on its way. Returns whether nothing is. What it says and
    /// does stays the same. A driver of very many endpoints, most of which sleep, calls it.
    fn rest(&mut self) -> bool {
        false
    }

    /// What the endpoint holds for a flow. A driver with a limit for all flows together asks after every input of the
    /// flow, and ends the flow that holds most. Clients hold what their user gave them, and need not say it.
    fn held(&self, _flow: FlowId) -> Held {
        Held::default()
    }

    /// Bytes that the endpoint keeps for all flows together, such as queued messages. They outlast flows, and the
    /// endpoint limits them itself.
    fn stored_bytes(&self) -> usize {
        0
    }
}

impl<T: Endpoint + ?Sized> Endpoint for alloc::boxed::Box<T> {
    type Command = T::Command;
    type Event = T::Event;
    type Error = T::Error;

    fn handle_input(&mut self, input: Input<'_, Self::Command>, now: Instant) -> Result<(), Self::Error> {
        (**self).handle_input(input, now)
    }

    fn poll_output(&mut self, out: &mut Buffer) -> Output<Self::Event> {
        (**self).poll_output(out)
    }

    fn rest(&mut self) -> bool {
        (**self).rest()
    }

    fn held(&self, flow: FlowId) -> Held {
        (**self).held(flow)
    }

    fn stored_bytes(&self) -> usize {
        (**self).stored_bytes()
    }
}
