//! TCP connections: bytes in order, and packets that wait for the description of their content.
//!
//! - [`reassembly`]: the bytes of one direction in order
//! - [`held`]: packets that wait

pub(crate) mod held;
pub(crate) mod reassembly;
