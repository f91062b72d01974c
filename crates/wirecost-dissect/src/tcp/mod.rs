//! TCP connections: bytes in order, and packets held back until someone has said what they carry.
//!
//! - [`reassembly`]: one direction's bytes in order
//! - [`held`]: packets that wait

pub(crate) mod held;
pub(crate) mod reassembly;
