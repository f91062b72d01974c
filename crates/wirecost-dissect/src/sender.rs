//! Who sends.

/// Who sends the bytes that a flow begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sender {
    Client,
    Server,
}
