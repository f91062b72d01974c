//! What carries the packets of an emulated link on a real machine.

/// How packets leave a side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Medium {
    /// A TUN device in each side.
    Tun,
    /// A veth pair to each side, from the forwarder's namespace.
    Veth,
}
