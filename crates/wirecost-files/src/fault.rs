//! Why a file is refused.

use std::fs::{FileType, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileTypeExt as _;

/// Why a file is refused. The text follows the name of the file: `cannot read FILE: it is a folder`.
#[derive(Debug, thiserror::Error)]
pub enum FileFault {
    /// The system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It is no regular file.
    #[error("it is {0}, not a file")]
    Kind(Special),
    /// It is a symbolic link where none may be: it would lead a write to another file.
    #[error("it is a symbolic link, and the program writes through none there")]
    Link,
    /// It is longer than such a file may be.
    #[error("it is longer than {bound}, the most for {what}", bound = size(*most))]
    TooLong {
        /// What was to be read, as in a sentence.
        what: &'static str,
        /// The most bytes.
        most: u64,
    },
    /// A line is longer than a line may be.
    #[error("line {line} is longer than {bound}, the most for a line", bound = size(*most))]
    LongLine {
        /// The number of the line, from 1.
        line: u64,
        /// The most bytes.
        most: u64,
    },
    /// It is not text.
    #[error("line {line} is not text in UTF-8: byte {column} of the line is 0x{byte:02x}")]
    NotText {
        /// The number of the line, from 1.
        line: u64,
        /// The place of the byte in its line, from 1.
        column: u64,
        /// The byte.
        byte: u8,
    },
}

/// What is at a path in place of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Special {
    /// A folder.
    #[error("a folder")]
    Folder,
    /// A pipe with a name, which may never have a writer.
    #[error("a named pipe (FIFO)")]
    NamedPipe,
    /// A device, such as /dev/zero or a terminal.
    #[error("a device")]
    Device,
    /// A socket.
    #[error("a socket")]
    Socket,
    /// Another kind.
    #[error("of an unknown kind")]
    Other,
}

impl Special {
    /// What a file type is; `None` for a regular file.
    pub(crate) fn from_kind(kind: FileType) -> Option<Self> {
        if kind.is_file() {
            return None;
        }
        Some(match kind {
            kind if kind.is_dir() => Self::Folder,
            kind if kind.is_fifo() => Self::NamedPipe,
            kind if kind.is_char_device() || kind.is_block_device() => Self::Device,
            kind if kind.is_socket() => Self::Socket,
            _ => Self::Other,
        })
    }
}

impl FileFault {
    /// The kind of the error that the system gave, if it gave one.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Io(error) => error.kind(),
            Self::Kind(Special::Folder) => ErrorKind::IsADirectory,
            Self::Kind(_) | Self::Link => ErrorKind::InvalidInput,
            Self::TooLong { .. } => ErrorKind::FileTooLarge,
            Self::LongLine { .. } | Self::NotText { .. } => ErrorKind::InvalidData,
        }
    }

    /// Whether there is no such file.
    pub fn is_absent(&self) -> bool {
        self.kind() == ErrorKind::NotFound
    }

    /// The fault of an error of opening, where `found` is what is at the path.
    pub(crate) fn of_open(error: io::Error, found: Option<Metadata>) -> Self {
        let is_link = error.raw_os_error() == Some(libc::ELOOP)
            && found.as_ref().is_some_and(|found| found.file_type().is_symlink());
        // A socket and a pipe that nobody reads cannot be opened (ENXIO), a folder not to write.
        let special = found.and_then(|found| Special::from_kind(found.file_type()));
        match (special, error.raw_os_error()) {
            _ if is_link => Self::Link,
            (Some(special), Some(libc::ENXIO | libc::EISDIR)) => Self::Kind(special),
            _ => Self::Io(error),
        }
    }
}

impl From<FileFault> for io::Error {
    fn from(fault: FileFault) -> Self {
        match fault {
            FileFault::Io(error) => error,
            other => Self::new(other.kind(), other),
        }
    }
}

/// A length in the unit that reads best.
fn size(bytes: u64) -> String {
    const KIB: u64 = 1 << 10;
    const MIB: u64 = 1 << 20;
    const GIB: u64 = 1 << 30;
    match bytes {
        bytes if bytes % GIB == 0 => format!("{} GiB", bytes / GIB),
        bytes if bytes % MIB == 0 => format!("{} MiB", bytes / MIB),
        bytes if bytes % KIB == 0 => format!("{} KiB", bytes / KIB),
        bytes => format!("{bytes} B"),
    }
}
