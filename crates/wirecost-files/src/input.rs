//! Files that the program reads.

#![allow(
    clippy::disallowed_methods,
    reason = "the one place that opens files (scripts/check-files)"
)]

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use crate::fault::{FileFault, Special};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// A kind of file that the program reads, with the most bytes that it may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// A scenario.
    Scenario,
    /// A file of claims.
    Claims,
    /// Requirements of `choose`.
    Requirements,
    /// A device.
    Device,
    /// A tariff.
    Tariff,
    /// A link.
    Link,
    /// Times of arrival.
    Arrivals,
    /// A join file of agents.
    JoinFile,
    /// A password or a key in text.
    Secret,
    /// The credentials of devices.
    Credentials,
    /// Certificates or a private key in PEM; a system's list of authorities is one.
    Pem,
    /// A key of COSE.
    Key,
    /// The secrets of connections, in the format of NSS.
    KeyLog,
    /// The payload of a message.
    Payload,
    /// The content of a part of an object, or an object.
    Object,
    /// A file of a results folder.
    Results,
    /// The output that a server of a run has written.
    Log,
    /// A capture, read packet by packet.
    Capture,
    /// The export of a power meter, read line by line.
    Trace,
    /// A program, whose version is looked for.
    Program,
}

impl Input {
    /// The most bytes of such a file.
    pub const fn bound(self) -> u64 {
        match self {
            Self::JoinFile => 4 * KIB,
            Self::Secret => 64 * KIB,
            Self::Device | Self::Tariff | Self::Link | Self::Requirements | Self::Key => MIB,
            Self::Scenario | Self::Claims => 4 * MIB,
            Self::Pem | Self::Log => 16 * MIB,
            // In JSON, at most twice as long, one line to an agent.
            Self::Credentials => 30 * MIB,
            Self::Arrivals | Self::KeyLog | Self::Program => 64 * MIB,
            Self::Payload | Self::Object => 256 * MIB,
            Self::Results => GIB,
            // Packets and lines are not kept.
            Self::Capture | Self::Trace => u64::MAX,
        }
    }

    /// Such a file in a sentence.
    pub const fn what(self) -> &'static str {
        match self {
            Self::Scenario => "a scenario",
            Self::Claims => "a file of claims",
            Self::Requirements => "a file of requirements",
            Self::Device => "a device file",
            Self::Tariff => "a tariff file",
            Self::Link => "a link file",
            Self::Arrivals => "a file of arrivals",
            Self::JoinFile => "a join file",
            Self::Secret => "a file with a secret",
            Self::Credentials => "a file with credentials",
            Self::Pem => "a PEM file",
            Self::Key => "a key",
            Self::KeyLog => "a key log",
            Self::Payload => "a payload",
            Self::Object => "an object or a part of it",
            Self::Results => "a file of a results folder",
            Self::Log => "the output of a server",
            Self::Capture => "a capture",
            Self::Trace => "the export of a power meter",
            Self::Program => "a program",
        }
    }

    /// Opens a file. Nothing waits: a named pipe, a device, a socket and a folder are refused. A pipe without a name is read,
    /// because only the user's own shell can have given it: `<(...)` and `/dev/stdin`.
    ///
    /// # Errors
    /// It cannot be opened, is of another kind, or is longer than the bound.
    pub fn open(self, path: &Path) -> Result<File, FileFault> {
        let file = options().open(path);
        let file = file.map_err(|error| FileFault::of_open(error, std::fs::metadata(path).ok()))?;
        let found = file.metadata()?;
        match Special::from_kind(found.file_type()) {
            None if found.len() > self.bound() => Err(self.too_long()),
            // A regular file is never waited for, so that O_NONBLOCK means nothing to it.
            None => Ok(file),
            Some(Special::NamedPipe) if is_unnamed(&file) => Ok(waiting(&file)?),
            Some(special) => Err(FileFault::Kind(special)),
        }
    }

    /// The bytes of a file.
    ///
    /// # Errors
    /// As [`Input::open`]; or it cannot be read.
    pub fn bytes(self, path: &Path) -> Result<Vec<u8>, FileFault> {
        self.bytes_of(self.open(path)?)
    }

    /// The text of a file.
    ///
    /// # Errors
    /// As [`Input::bytes`]; or it is not UTF-8.
    pub fn text(self, path: &Path) -> Result<String, FileFault> {
        text_of(self.bytes(path)?)
    }

    /// The text of a file, with U+FFFD in place of bytes that are not UTF-8.
    ///
    /// # Errors
    /// As [`Input::bytes`].
    pub fn lossy_text(self, path: &Path) -> Result<String, FileFault> {
        let bytes = self.bytes(path)?;
        Ok(String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
    }

    /// All bytes of a source, such as standard input.
    ///
    /// # Errors
    /// It cannot be read, or has more than the bound.
    pub fn bytes_of(self, source: impl Read) -> Result<Vec<u8>, FileFault> {
        let mut bytes = Vec::new();
        source
            .take(self.bound().saturating_add(1))
            .read_to_end(&mut bytes)?;
        if bytes.len() as u64 > self.bound() {
            return Err(self.too_long());
        }
        Ok(bytes)
    }

    fn too_long(self) -> FileFault {
        FileFault::TooLong {
            what: self.what(),
            most: self.bound(),
        }
    }

    /// The text of a source, such as standard input.
    ///
    /// # Errors
    /// As [`Input::bytes_of`]; or it is not UTF-8.
    pub fn text_of(self, source: impl Read) -> Result<String, FileFault> {
        text_of(self.bytes_of(source)?)
    }
}

/// How a file is opened before its kind is known: the open of a pipe must not wait for a writer, and a terminal must not
/// become that of the process.
fn options() -> OpenOptions {
    let mut options = File::options();
    options.read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY);
    options
}

/// Whether a pipe has no name in a file system. The kernel calls it `pipe:[NUMBER]`, and anything else by its path.
pub(crate) fn is_unnamed(file: &File) -> bool {
    let name = std::fs::read_link(descriptor(file)).unwrap_or_default();
    name.as_os_str().as_encoded_bytes().starts_with(b"pipe:[")
}

/// The same pipe without O_NONBLOCK: its writer may be slow. The open itself never waits, because the pipe has no name.
fn waiting(file: &File) -> io::Result<File> {
    File::open(descriptor(file))
}

fn descriptor(file: &File) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

fn text_of(bytes: Vec<u8>) -> Result<String, FileFault> {
    String::from_utf8(bytes).map_err(|error| not_text(error.as_bytes(), error.utf8_error().valid_up_to()))
}

/// The fault of the byte at `at`.
fn not_text(bytes: &[u8], at: usize) -> FileFault {
    let before = bytes.get(..at).unwrap_or_default();
    let start = before
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |end| end + 1);
    FileFault::NotText {
        line: 1 + before.iter().filter(|byte| **byte == b'\n').count() as u64,
        column: 1 + (at - start) as u64,
        byte: bytes.get(at).copied().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests;
