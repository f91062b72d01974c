//! The files of a server: reads certificates, writes its authority and its secrets.

use std::fs::{File, Permissions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use wirecost_files::Input;
use wirecost_files::output::{self, Existing, SECRET};
use wirecost_security::KeyLog;

use crate::output::unwritable;

use crate::exit::Failure;

/// The text of an option's file.
pub(super) fn read(option: &str, file: &Path) -> Result<String, Failure> {
    Input::Pem.text(file).map_err(|error| {
        Failure::usage(format_args!("cannot read {option} {}: {error}", file.display()))
            .with_hint("give a PEM file that can be read")
    })
}

/// The file with the authority of a generated certificate. A temporary file is removed with this value.
pub(super) struct AuthorityFile {
    pub(super) path: PathBuf,
    is_temporary: bool,
}

impl AuthorityFile {
    /// Writes the authority to the requested file, or to a new one with an unpredictable name.
    pub(super) fn write(asked: Option<&Path>, pem: &str) -> Result<Self, Failure> {
        let path = match asked {
            Some(path) => path.to_owned(),
            None => temporary()?,
        };
        // Somebody else may have put a file or a link at a name in the folder of all users.
        let existing = asked.map_or(Existing::Refused, |_| Existing::Replaced);
        let opened = output::own(&path, existing, 0o644);
        let written = opened.and_then(|mut file| Ok(file.write_all(pem.as_bytes())?));
        written.map_err(|fault| unwritable("--ca-out", &path, &fault))?;
        Ok(Self {
            path,
            is_temporary: asked.is_none(),
        })
    }
}

impl Drop for AuthorityFile {
    fn drop(&mut self) {
        if self.is_temporary {
            // The authority is useless without the server. Another program may have removed the file.
            drop(std::fs::remove_file(&self.path));
        }
    }
}

fn temporary() -> Result<PathBuf, Failure> {
    let name = format!("wirecost-ca-{:016x}.pem", super::random()?);
    Ok(std::env::temp_dir().join(name))
}

/// Writes the secrets of a server's connections to a file.
pub(super) struct KeyFile {
    path: PathBuf,
    file: File,
    log: KeyLog,
}

impl KeyFile {
    /// Opens the file and restricts it to its owner.
    pub(super) fn open(path: &Path, log: KeyLog) -> Result<Self, Failure> {
        let opened = output::own(path, Existing::Continued, SECRET);
        // An existing file may be readable by others.
        let secret = |file: File| {
            file.set_permissions(Permissions::from_mode(SECRET))?;
            Ok(file)
        };
        let file = opened.and_then(secret);
        let file = file.map_err(|error| unwritable("--keylog", path, &error))?;
        Ok(Self {
            path: path.to_owned(),
            file,
            log,
        })
    }

    /// Writes the secrets since the last call.
    pub(super) fn write(&mut self) -> Result<(), Failure> {
        let lines = self.log.take();
        let written = self.file.write_all(lines.as_bytes());
        written.map_err(|error| unwritable("--keylog", &self.path, &error.into()))
    }
}
