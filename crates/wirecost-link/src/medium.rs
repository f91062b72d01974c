//! The interfaces of an emulated link on a real machine.

/// The kind of interface that packets leave a side by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Medium {
    /// A TUN device on each side.
    Tun,
    /// A veth pair to each side, from the forwarder's namespace.
    Veth,
}
