//! Files that the program writes.

#![allow(
    clippy::disallowed_methods,
    reason = "the one place that opens files (scripts/check-files)"
)]

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::fault::{FileFault, Special};
use crate::input::is_unnamed;

/// The mode of files that only their owner may read.
pub const SECRET: u32 = 0o600;
/// The mode of files that everybody may read. The process's umask applies to it.
pub const PUBLIC: u32 = 0o666;

/// What happens to a file that is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// Its content is replaced.
    Replaced,
    /// Its content stays; what is written follows it.
    Continued,
    /// It is refused.
    Refused,
}

impl Existing {
    fn apply(self, options: &mut OpenOptions) {
        match self {
            Self::Replaced => options.write(true).create(true),
            Self::Continued => options.append(true).create(true),
            Self::Refused => options.write(true).create_new(true),
        };
    }
}

/// Opens a file of ours to write: of a results folder, a capture, a key log. Somebody else may have put something else at its
/// place: a symbolic link there is not followed, and what is no regular file is refused before it is changed.
///
/// # Errors
/// It cannot be opened, or is not a regular file.
pub fn own(path: &Path, existing: Existing, mode: u32) -> Result<File, FileFault> {
    let mut options = File::options();
    existing.apply(&mut options);
    options
        .mode(mode)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY);
    let file = options
        .open(path)
        .map_err(|error| FileFault::of_open(error, fs::symlink_metadata(path).ok()))?;
    if let Some(special) = Special::from_kind(file.metadata()?.file_type()) {
        return Err(FileFault::Kind(special));
    }
    if existing == Existing::Replaced {
        file.set_len(0)?;
    }
    Ok(file)
}

/// Opens a file that an option names for what is also printed, such as a table in JSON. The user may name what leads elsewhere:
/// `/dev/stdout`, `/dev/null`, `>(...)`. A named pipe and a folder are refused; nothing waits.
///
/// # Errors
/// It cannot be opened, or is of another kind.
pub fn named(path: &Path, existing: Existing) -> Result<File, FileFault> {
    let mut options = File::options();
    existing.apply(&mut options);
    options
        .mode(PUBLIC)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY);
    let file = options
        .open(path)
        .map_err(|error| FileFault::of_open(error, fs::metadata(path).ok()))?;
    match Special::from_kind(file.metadata()?.file_type()) {
        None if existing == Existing::Replaced => file.set_len(0)?,
        None => {}
        Some(Special::Device) => return again(path),
        Some(Special::NamedPipe) if is_unnamed(&file) => return again(path),
        Some(special) => return Err(FileFault::Kind(special)),
    }
    Ok(file)
}

/// The same device or pipe without O_NONBLOCK, so that a slow reader is waited for.
fn again(path: &Path) -> Result<File, FileFault> {
    Ok(File::options().write(true).open(path)?)
}

/// Writes the whole content of a file that an option names ([`named`]).
///
/// # Errors
/// As [`named`]; or it cannot be written.
pub fn write_named(path: &Path, content: impl AsRef<[u8]>) -> Result<(), FileFault> {
    let mut file = named(path, Existing::Replaced)?;
    Ok(file.write_all(content.as_ref())?)
}

/// Writes the whole content of a file of ours ([`own`]).
///
/// # Errors
/// As [`own`]; or it cannot be written.
pub fn write_own(path: &Path, content: impl AsRef<[u8]>, mode: u32) -> Result<(), FileFault> {
    let mut file = own(path, Existing::Replaced, mode)?;
    Ok(file.write_all(content.as_ref())?)
}

/// A file without a name in a folder, for its owner alone: nothing is left of it, however the process ends.
///
/// # Errors
/// The folder's file system refuses.
pub fn unnamed(folder: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).write(true).mode(SECRET);
    let unnamed = options.clone().custom_flags(libc::O_TMPFILE).open(folder);
    unnamed.or_else(|_| {
        // Not every file system supports O_TMPFILE: make a name and remove it at once.
        let path = folder.join(".packets.partial");
        let file = options.create_new(true).open(&path)?;
        fs::remove_file(&path)?;
        Ok(file)
    })
}

/// Opens a folder, to lock it or to flush it to the disk.
///
/// # Errors
/// It cannot be opened, or is not a folder.
pub fn folder(path: &Path) -> io::Result<File> {
    File::options()
        .read(true)
        .custom_flags(libc::O_DIRECTORY | libc::O_NONBLOCK)
        .open(path)
}

/// Creates a folder of ours, or takes the one that is there. A symbolic link at its place is refused: it would lead all files of the
/// folder elsewhere.
///
/// # Errors
/// It cannot be created, or something else is there.
pub fn own_folder(path: &Path) -> Result<(), FileFault> {
    match fs::create_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let found = fs::symlink_metadata(path)?.file_type();
            match found {
                found if found.is_dir() => Ok(()),
                found if found.is_symlink() => Err(FileFault::Link),
                _ => Err(FileFault::Io(error)),
            }
        }
        created => Ok(created?),
    }
}

/// Creates a folder that was not there: `path`, or `path-2`, `path-3` and so on if another program has made it. Makes the folders
/// above it.
///
/// # Errors
/// It cannot be created.
pub fn new_folder(path: &Path) -> io::Result<PathBuf> {
    if let Some(above) = path.parent() {
        fs::create_dir_all(above)?;
    }
    let mut taken = 1_u32;
    loop {
        let candidate = numbered(path, taken);
        match fs::create_dir(&candidate) {
            Ok(()) => return Ok(candidate),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && taken < 10_000 => taken += 1,
            Err(error) => return Err(error),
        }
    }
}

fn numbered(path: &Path, number: u32) -> PathBuf {
    if number == 1 {
        return path.to_owned();
    }
    let mut name = path.as_os_str().to_owned();
    name.push(format!("-{number}"));
    name.into()
}

#[cfg(test)]
mod tests;
