//! The files of a server: certificates in, its authority and its secrets out.

use std::fs::{File, OpenOptions, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use wirecost_security::KeyLog;

use crate::output::unwritable;

use crate::exit::Failure;

/// The mode of files that only their owner may read.
const SECRET: u32 = 0o600;

/// The text of a file that an option names.
pub(super) fn read(option: &str, file: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(file).map_err(|error| {
        Failure::usage(format_args!("cannot read {option} {}: {error}", file.display()))
            .with_hint("give a PEM file that can be read")
    })
}

/// Where the authority of a generated certificate stands; a temporary file goes away with this value.
pub(super) struct AuthorityFile {
    pub(super) path: PathBuf,
    is_temporary: bool,
}

impl AuthorityFile {
    /// Writes the authority to the file asked for, else to a new one with a name that cannot be foreseen.
    pub(super) fn write(asked: Option<&Path>, pem: &str) -> Result<Self, Failure> {
        let path = match asked {
            Some(path) => path.to_owned(),
            None => temporary()?,
        };
        let mut options = OpenOptions::new();
        options.write(true).mode(0o644);
        match asked {
            Some(_) => options.create(true).truncate(true),
            None => options.create_new(true),
        };
        let opened = options.open(&path);
        let written = opened.and_then(|mut file| file.write_all(pem.as_bytes()));
        written.map_err(|error| unwritable("--ca-out", &path, &error))?;
        Ok(Self {
            path,
            is_temporary: asked.is_none(),
        })
    }
}

impl Drop for AuthorityFile {
    fn drop(&mut self) {
        if self.is_temporary {
            // The authority dies with the server; a file that somebody has taken away already is as good.
            drop(std::fs::remove_file(&self.path));
        }
    }
}

fn temporary() -> Result<PathBuf, Failure> {
    let name = format!("wirecost-ca-{:016x}.pem", super::random()?);
    Ok(std::env::temp_dir().join(name))
}

/// Takes the secrets of a server's connections to a file.
pub(super) struct KeyFile {
    path: PathBuf,
    file: File,
    log: KeyLog,
}

impl KeyFile {
    /// Opens the file, which is its owner's alone from now on.
    pub(super) fn open(path: &Path, log: KeyLog) -> Result<Self, Failure> {
        let opened = OpenOptions::new()
            .create(true)
            .append(true)
            .mode(SECRET)
            .open(path);
        // A file that was there before may be open to others.
        let secret = |file: File| {
            if file.metadata()?.is_file() {
                file.set_permissions(Permissions::from_mode(SECRET))?;
            }
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

    /// Writes what has come since.
    pub(super) fn write(&mut self) -> Result<(), Failure> {
        let lines = self.log.take();
        let written = self.file.write_all(lines.as_bytes());
        written.map_err(|error| unwritable("--keylog", &self.path, &error))
    }
}
