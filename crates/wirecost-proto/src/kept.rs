//! Buffers that wait for another message of their peer.

use alloc::vec::Vec;

/// What such a buffer keeps of its memory. A peer that is quiet takes no more, whatever it has sent before.
pub const KEPT_BYTES: usize = 16 << 10;

/// Empties a buffer, and gives back its memory above [`KEPT_BYTES`].
///
/// ```
/// let mut buffer = vec![0; 1_000_000];
/// wirecost_proto::kept::empty(&mut buffer);
/// assert!(buffer.is_empty() && buffer.capacity() < 100_000);
/// ```
pub fn empty(buffer: &mut Vec<u8>) {
    buffer.clear();
    buffer.shrink_to(KEPT_BYTES);
}

/// The memory of a buffer with a part of a message, in bytes: it grows ahead of what is in it. 0 if it is empty.
///
/// ```
/// use wirecost_proto::kept::memory;
///
/// assert_eq!(memory(&Vec::with_capacity(500)), 0);
/// let mut buffer = Vec::with_capacity(500);
/// buffer.push(1);
/// assert!(memory(&buffer) >= 500);
/// ```
pub const fn memory(buffer: &Vec<u8>) -> usize {
    if buffer.is_empty() { 0 } else { buffer.capacity() }
}

/// Appends to a buffer with a part of a message. It grows by a quarter ahead of what is in it, and not to twice as much, so that a long
/// message takes little more memory than it has bytes.
///
/// ```
/// let mut buffer = vec![0; 10_000_000];
/// wirecost_proto::kept::append(&mut buffer, &[1]);
/// assert!(buffer.capacity() < 13_000_000);
/// ```
pub fn append(buffer: &mut Vec<u8>, bytes: &[u8]) {
    let free = buffer.capacity() - buffer.len();
    if free < bytes.len() {
        buffer.reserve_exact(bytes.len().max(buffer.len() / 4));
    }
    buffer.extend_from_slice(bytes);
}
