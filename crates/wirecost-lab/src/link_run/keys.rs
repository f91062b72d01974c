//! The secrets of the program's connections: what it and its server log by themselves where a variable tells them to.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use wirecost_results::RunFolder;

use super::error::doing;
use super::{LinkError, Options};

/// The variable by which programs are told where to log their secrets (RFC 9850).
pub(super) const VARIABLE: &str = "SSLKEYLOGFILE";
/// The file that it names, in the results folder.
const FILE: &str = "keys.log";

/// The file that `SSLKEYLOGFILE` names, and the one that the user has named.
pub struct KeyFile {
    ours: Option<PathBuf>,
    given: Option<PathBuf>,
}

impl KeyFile {
    /// An empty file that only its owner may read; none where keys are left out.
    ///
    /// # Errors
    /// The folder's file system refuses.
    pub fn create(options: &Options, folder: &RunFolder) -> Result<Self, LinkError> {
        // Programs may look for it from wherever they go.
        let path = std::path::absolute(folder.file(FILE)).map_err(doing("write the key log"))?;
        let mut open = OpenOptions::new();
        let open = open.create(true).append(true).mode(0o600);
        if options.keys {
            open.open(&path).map_err(doing("write the key log"))?;
        }
        Ok(Self {
            ours: options.keys.then_some(path),
            given: options.key_log.clone().filter(|_| options.keys),
        })
    }

    /// The file that programs write to, if keys are kept.
    pub fn path(&self) -> Option<&Path> {
        self.ours.as_deref()
    }

    /// Every line that was logged, the built-in server's last; `note` hears of a file that cannot be read. One that
    /// nobody wrote to goes away.
    pub fn secrets(&self, of_server: String, note: &mut dyn FnMut(&str)) -> String {
        let mut read = |path: &PathBuf| {
            let bytes = std::fs::read(path).unwrap_or_else(|error| {
                note(&format!("warning: no secrets from {}: {error}", path.display()));
                Vec::new()
            });
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let logged = self.ours.as_ref().map(&mut read).unwrap_or_default();
        if let Some(path) = self.ours.as_ref().filter(|_| logged.is_empty()) {
            // It may stay where it cannot be removed.
            drop(std::fs::remove_file(path));
        }
        let given = self.given.as_ref().map(read).unwrap_or_default();
        distinct_lines(&[logged, given, of_server])
    }
}

/// Every line once: both ends of a connection log the same secrets.
fn distinct_lines(parts: &[String]) -> String {
    let mut known = BTreeSet::new();
    let lines = parts.iter().flat_map(|part| part.lines());
    let fresh = lines.filter(|line| known.insert(*line));
    fresh.flat_map(|line| [line, "\n"]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_that_both_ends_log_is_there_once() {
        let parts = ["a 1\nb 2".to_owned(), String::new(), "b 2\nc 3\n".to_owned()];
        assert_eq!(distinct_lines(&parts), "a 1\nb 2\nc 3\n");
    }
}
