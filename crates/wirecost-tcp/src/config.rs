//! What implementations of TCP differ in.

/// How one end behaves.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The largest segment that this end accepts: the path's MTU less IP and TCP headers without options.
    pub maximum_segment_size: u16,
}

impl Config {
    /// The Linux kernel under the settings of the emulated link (ARCHITECTURE.md, docs/models/tcp.md).
    pub fn linux(maximum_segment_size: u16) -> Self {
        Self { maximum_segment_size }
    }
}
