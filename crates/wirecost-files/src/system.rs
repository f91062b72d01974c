//! Files of the kernel: those of `/proc` and `/sys`, which it makes when they are read, and devices such as `/dev/net/tun`.
//! Their names are written in the program, so that nobody else can name another file.

#![allow(
    clippy::disallowed_methods,
    reason = "the one place that opens files (scripts/check-files)"
)]

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

/// Opens a file of the kernel.
///
/// # Errors
/// The kernel refuses.
pub fn open(options: &OpenOptions, path: impl AsRef<Path>) -> io::Result<File> {
    options.open(path)
}

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
