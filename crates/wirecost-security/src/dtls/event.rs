//! What an engine reports to its connection: the same for certificates and for pre-shared keys.

/// An output of the engine. Its bytes are at the start of the given buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConnectionEvent {
    /// A datagram to send.
    Datagram(usize),
    /// The plaintext of an application data record.
    Plaintext(usize),
    /// The peer's certificate, not verified yet.
    Certificate(usize),
    /// The handshake is complete.
    Connected,
    /// The peer sent close_notify.
    CloseNotify,
    /// No more output now.
    Wait,
}
