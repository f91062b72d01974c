//! Which figures of its cell a packet counts in.

use wirecost_proto::Phase;

/// The figures that a packet and its bytes count in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shares {
    /// Those of the packet, its headers and all bytes that are not among the others.
    pub packet: Counted,
    /// The bytes that count in other figures: QUIC puts frames of several phases into one packet, and early data follows a
    /// ClientHello.
    pub others: Vec<(Counted, u64)>,
}

impl Shares {
    /// The shares of a packet whose bytes all count in the same figures.
    pub const fn uniform(packet: Counted) -> Self {
        Self {
            packet,
            others: Vec::new(),
        }
    }

    /// Moves bytes to other figures than the packet's.
    pub fn add(&mut self, counted: Counted, bytes: u64) {
        if counted == self.packet {
            return;
        }
        match self.others.iter_mut().find(|(other, _)| *other == counted) {
            Some((_, sum)) => *sum += bytes,
            None => self.others.push((counted, bytes)),
        }
    }
}

/// The figures that a packet counts in. A row of the table has those of [`Counted::Message`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// None: this phase of the connection that got the ticket for the measured one.
    Ticket(Phase),
    /// The connect.
    Connect,
    /// None: the message before the measured ones.
    WarmUp,
    /// The measured messages.
    Message,
    /// Keep-alive.
    KeepAlive,
    /// The close.
    Close,
    /// None: its device did not finish, or did not start as configured, or never sent a message that these bytes belong
    /// to.
    Nothing,
}

impl Counted {
    /// The name in the comments of captures.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ticket(Phase::Connect) => "ticket connect",
            Self::Ticket(Phase::Message) => "ticket message",
            Self::Ticket(Phase::KeepAlive) => "ticket keep_alive",
            Self::Ticket(Phase::Close) => "ticket close",
            Self::Connect => "connect",
            Self::WarmUp => "warm-up",
            Self::Message => "message",
            Self::KeepAlive => "keep_alive",
            Self::Close => "close",
            Self::Nothing => "not counted",
        }
    }
}
