//! The certificates that devices present to a server which wirecost has not started: one for all, or one for each, from a folder.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use wirecost_files::Input;
use wirecost_proto::units::counted;
use wirecost_scenario::options::load::LoadOptions;
use wirecost_security::certificate::{self, Identity};

use crate::devices::destination::PemIdentity;

/// The ends of the names of certificates in a folder.
const CERTIFICATES: [&str; 2] = ["crt", "pem"];
/// The most bytes of certificates and keys: with the credentials they are one line to an agent, of at most 64 MiB.
const MOST_BYTES: usize = 30_000_000;
/// The end of the names of keys in a folder.
const KEY: &str = "key";

/// Why the certificates of devices cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum IdentitiesError {
    /// A certificate in a file has no key.
    #[error("{certificate} is a certificate, and no key was named: name its file, too")]
    NoKey {
        /// The certificate's file.
        certificate: String,
    },
    /// A key was named beside a folder.
    #[error("{folder} is a folder, which has the keys beside the certificates: leave out the key")]
    KeyBesideFolder {
        /// The folder.
        folder: String,
    },
    /// A folder or a file cannot be read.
    #[error("cannot read {path}: {reason}")]
    Unreadable {
        /// The path.
        path: String,
        /// The cause.
        reason: String,
    },
    /// The certificate of a device in a folder has no key, or the other way round.
    #[error("{folder}: {missing} is missing: {there} has no other half")]
    Half {
        /// The folder.
        folder: String,
        /// The file that is not there.
        missing: String,
        /// The file that is there.
        there: String,
    },
    /// A folder has two certificates of one name.
    #[error("{folder}: {} and {} have one name: leave one of them", .files[0], .files[1])]
    Twice {
        /// The folder.
        folder: String,
        /// The files.
        files: [String; 2],
    },
    /// A folder has more certificates than a line to a worker can hold.
    #[error("{folder}: the certificates of {devices} devices have {} MB, and {} fit", .bytes / 1_000_000, MOST_BYTES / 1_000_000)]
    TooMany {
        /// The folder.
        folder: String,
        /// How many devices there are.
        devices: u64,
        /// Bytes of certificates and keys.
        bytes: usize,
    },
    /// A folder has too few certificates.
    #[error(
        "{folder} has certificates for {}, and there are {devices}, subscribers included",
        counted(*.certificates as u64, "device")
    )]
    TooFew {
        /// The folder.
        folder: String,
        /// How many there are.
        certificates: usize,
        /// How many devices there are.
        devices: u64,
    },
    /// A certificate and its key cannot be used.
    #[error("{certificate}: {source}")]
    Unusable {
        /// The certificate's file.
        certificate: String,
        /// The cause.
        source: certificate::Error,
    },
}

/// The certificates of the devices of a load with their keys; none if it names none.
///
/// # Errors
/// They are not there, or cannot be used.
pub(crate) fn gather(options: &LoadOptions) -> Result<Vec<PemIdentity>, IdentitiesError> {
    let Some(path) = &options.cert else {
        return Ok(Vec::new());
    };
    let shown = || path.display().to_string();
    match (path.is_dir(), &options.key) {
        (true, Some(_)) => Err(IdentitiesError::KeyBesideFolder { folder: shown() }),
        (true, None) => {
            let devices = u64::from(options.clients) + u64::from(options.receivers());
            of_each(path, devices)
        }
        (false, Some(key)) => Ok(vec![read(path, key)?]),
        (false, None) => {
            // A wrong path is the first thing to say: a key beside it would not help.
            Input::Pem.text(path).map_err(|fault| unreadable(path, &fault))?;
            Err(IdentitiesError::NoKey { certificate: shown() })
        }
    }
}

/// The certificates of a folder in the order of their names, `dev-2` before `dev-10`, as many as there are devices.
fn of_each(folder: &Path, devices: u64) -> Result<Vec<PemIdentity>, IdentitiesError> {
    let pairs = pairs(folder)?;
    if (pairs.len() as u64) < devices {
        return Err(IdentitiesError::TooFew {
            folder: folder.display().to_string(),
            certificates: pairs.len(),
            devices,
        });
    }
    let needed = usize::try_from(devices).unwrap_or(usize::MAX);
    let mut identities = Vec::new();
    let mut bytes = 0;
    // A folder may have more certificates than the load has devices: those are not read, and their faults do not matter.
    for (certificate, key) in pairs.into_iter().take(needed) {
        let identity = read(&certificate, &key)?;
        bytes += identity.certificate.len() + identity.key.len();
        identities.push(identity);
    }
    match bytes <= MOST_BYTES {
        true => Ok(identities),
        false => Err(IdentitiesError::TooMany {
            folder: folder.display().to_string(),
            devices,
            bytes,
        }),
    }
}

/// Each certificate with its key.
fn pairs(folder: &Path) -> Result<Vec<(PathBuf, PathBuf)>, IdentitiesError> {
    // Names without numbers of one width are in the order of the numbers.
    let mut halves: BTreeMap<(usize, String), [Option<PathBuf>; 2]> = BTreeMap::new();
    for path in files(folder).map_err(|error| unreadable(folder, &error))? {
        let (Some(name), Some(end)) = (path.file_stem(), path.extension()) else {
            continue;
        };
        let half = match end.to_str() {
            Some(KEY) => 1,
            Some(end) if CERTIFICATES.contains(&end) => 0,
            _ => continue,
        };
        let name = name.to_string_lossy().into_owned();
        let place = &mut halves.entry((name.len(), name)).or_default()[half];
        if let Some(first) = place.replace(path.clone()) {
            return Err(IdentitiesError::Twice {
                folder: folder.display().to_string(),
                files: [first, path].map(|path| file_name(&path)),
            });
        }
    }
    let whole = |((_, name), halves): ((usize, String), [Option<PathBuf>; 2])| match halves {
        [Some(certificate), Some(key)] => Ok((certificate, key)),
        [certificate, key] => {
            let missing = if certificate.is_some() {
                KEY
            } else {
                CERTIFICATES[0]
            };
            let there = certificate.or(key).unwrap_or_default();
            Err(IdentitiesError::Half {
                folder: folder.display().to_string(),
                missing: format!("{name}.{missing}"),
                there: file_name(&there),
            })
        }
    };
    halves.into_iter().map(whole).collect()
}

fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    folder.read_dir()?.map(|entry| Ok(entry?.path())).collect()
}

fn read(certificate: &Path, key: &Path) -> Result<PemIdentity, IdentitiesError> {
    let text = |path: &Path| Input::Pem.text(path).map_err(|fault| unreadable(path, &fault));
    let identity = PemIdentity {
        certificate: text(certificate)?,
        key: text(key)?,
    };
    Identity::from_pem(&identity.certificate, &identity.key).map_err(|source| IdentitiesError::Unusable {
        certificate: certificate.display().to_string(),
        source,
    })?;
    Ok(identity)
}

fn unreadable(path: &Path, why: &dyn std::fmt::Display) -> IdentitiesError {
    IdentitiesError::Unreadable {
        path: path.display().to_string(),
        reason: why.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        for file in files {
            std::fs::write(folder.path().join(file), "").expect("a file");
        }
        folder
    }

    fn names(folder: &Path) -> Result<Vec<String>, String> {
        let name = |(certificate, _): (PathBuf, PathBuf)| {
            let name = certificate.file_name().expect("a name");
            name.to_string_lossy().into_owned()
        };
        let pairs = pairs(folder).map_err(|error| error.to_string())?;
        Ok(pairs.into_iter().map(name).collect())
    }

    #[test]
    fn certificates_are_in_the_order_of_the_numbers_in_their_names() {
        let folder = folder(&["d10.crt", "d10.key", "d9.pem", "d9.key", "README", "ca.txt"]);
        assert_eq!(names(folder.path()), Ok(vec!["d9.pem".into(), "d10.crt".into()]));
        let few = of_each(folder.path(), 3).err().map(|error| error.to_string());
        let few = few.expect("too few");
        assert!(
            few.ends_with(" has certificates for 2 devices, and there are 3, subscribers included"),
            "{few}"
        );
    }

    #[test]
    fn the_missing_half_is_named() {
        let no_key = folder(&["a.crt", "a.key", "b.crt"]);
        let said = names(no_key.path()).expect_err("no key");
        assert!(
            said.ends_with(": b.key is missing: b.crt has no other half"),
            "{said}"
        );
        let no_certificate = folder(&["a.key"]);
        let said = names(no_certificate.path()).expect_err("no certificate");
        assert!(
            said.ends_with(": a.crt is missing: a.key has no other half"),
            "{said}"
        );
    }
}
