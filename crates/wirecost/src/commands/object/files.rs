//! Reads and writes files; `-` is stdin or stdout.

use std::fs::{File, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use wirecost_files::output::{Existing, own};
use wirecost_files::{FileFault, Input};
use wirecost_security::object::{KeyError, Signer};

use super::key_failure;
use crate::exit::{self, Failure};
use crate::output;

/// Who may read a new file.
#[derive(Clone, Copy, Debug)]
pub(in crate::commands) enum Readers {
    /// The owner: for keys and opened parts.
    Owner,
    /// Everybody.
    Everybody,
}

impl Readers {
    const fn mode(self) -> u32 {
        match self {
            Self::Owner => 0o600,
            Self::Everybody => 0o644,
        }
    }
}

pub(super) fn is_standard(file: &Path) -> bool {
    file == Path::new("-")
}

/// Refuses JSON on stdout if other output goes there.
pub(super) fn check_stdout(json: Option<&Path>, out: &Path, what: &str) -> Result<(), Failure> {
    if json.is_some_and(is_standard) && is_standard(out) {
        let message = format_args!("{what} and the JSON cannot both go to stdout");
        return Err(Failure::usage(message).with_hint("write it to a file with --out"));
    }
    Ok(())
}

/// The whole content.
pub(super) fn read(file: &Path) -> Result<Vec<u8>, Failure> {
    let content = if is_standard(file) {
        Input::Object.bytes_of(io::stdin().lock())
    } else {
        Input::Object.bytes(file)
    };
    content.map_err(|error| {
        Failure::usage(format_args!("cannot read {}: {error}", file.display()))
            .with_hint("give a file that can be read, or - for stdin")
    })
}

/// Reads a key.
pub(super) fn key<K>(file: &Path, parse: fn(&[u8]) -> Result<K, KeyError>) -> Result<K, Failure> {
    parse(&read(file)?).map_err(|error| key_failure(file, error))
}

/// Reads the keys of trusted signers.
pub(super) fn signers(files: &[std::path::PathBuf]) -> Result<Vec<Signer>, Failure> {
    files
        .iter()
        .map(|file| key(file, Signer::from_cose_key))
        .collect()
}

/// Writes a file, and overwrites an existing one.
pub(in crate::commands) fn write(file: &Path, content: &[u8], readers: Readers) -> Result<(), Failure> {
    if is_standard(file) {
        output::bytes(content);
        return Ok(());
    }
    let stored = store(Existing::Replaced, file, content, readers);
    stored.map_err(|error| cannot_write(file, &error))
}

/// Writes a file that must not exist yet.
pub(super) fn write_new(file: &Path, content: &[u8], readers: Readers) -> Result<(), Failure> {
    let stored = store(Existing::Refused, file, content, readers);
    if stored
        .as_ref()
        .is_err_and(|fault| fault.kind() != io::ErrorKind::AlreadyExists)
    {
        // An incomplete key is useless, and would block the next one.
        drop(std::fs::remove_file(file));
    }
    stored.map_err(|error| cannot_write(file, &error))
}

fn store(existing: Existing, file: &Path, content: &[u8], readers: Readers) -> Result<(), FileFault> {
    let mut file = own(file, existing, readers.mode())?;
    restrict(&file, readers)?;
    Ok(file.write_all(content)?)
}

/// Restricts an existing file to its owner if its new content is secret.
fn restrict(file: &File, readers: Readers) -> io::Result<()> {
    if matches!(readers, Readers::Owner) {
        file.set_permissions(Permissions::from_mode(readers.mode()))?;
    }
    Ok(())
}

fn cannot_write(file: &Path, error: &FileFault) -> Failure {
    let (code, hint) = match error.kind() {
        io::ErrorKind::AlreadyExists => (exit::USAGE, "keys are not written over: choose another name"),
        kind if output::is_full(kind) => (exit::INTERNAL, "make room on the disk"),
        _ => (exit::USAGE, "choose a file that can be written to"),
    };
    Failure::new(code, format_args!("cannot write {}: {error}", file.display())).with_hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_restricts_an_existing_file_to_its_owner() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("opened");
        let mode = || {
            let found = std::fs::metadata(&file).expect("it is there");
            found.permissions().mode() & 0o777
        };
        assert!(write(&file, b"sealed", Readers::Everybody).is_ok());
        assert_eq!(mode(), 0o644);
        assert!(write(&file, b"opened", Readers::Owner).is_ok());
        assert_eq!(mode(), 0o600);
    }
}
