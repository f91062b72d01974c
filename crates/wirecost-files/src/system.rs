//! Files of `/proc` and `/sys`: the kernel makes them when they are read.

use std::io;
use std::path::Path;

/// The text of a file of the kernel.
///
/// # Errors
/// The kernel refuses.
pub fn text(path: impl AsRef<Path>) -> io::Result<String> {
    std::fs::read_to_string(path)
}

/// Writes a setting of the kernel.
///
/// # Errors
/// The kernel refuses.
pub fn set(path: impl AsRef<Path>, value: impl AsRef<[u8]>) -> io::Result<()> {
    std::fs::write(path, value)
}
