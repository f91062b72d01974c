//! The secrets of the program's connections, which the program and its server log to the file that a variable names.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use wirecost_files::Input;
use wirecost_files::output::{self, Existing, SECRET};
use wirecost_results::RunFolder;

use super::error::doing;
use super::{LinkError, Options};

/// The variable that tells programs where to log their secrets (RFC 9850).
pub(super) const VARIABLE: &str = "SSLKEYLOGFILE";
/// The file that it names, in the results folder.
const FILE: &str = "keys.log";

/// The file of `SSLKEYLOGFILE`, and the one that the user has named.
pub struct KeyFile {
    ours: Option<PathBuf>,
    given: Option<PathBuf>,
}

impl KeyFile {
    /// Creates an empty file that only its owner may read; `None` if keys are not kept.
    ///
    /// # Errors
    /// The folder's file system refuses.
    pub fn create(options: &Options, folder: &RunFolder) -> Result<Self, LinkError> {
        // Programs may open it from any working directory.
        let path = std::path::absolute(folder.file(FILE)).map_err(doing("write the key log"))?;
        if options.keys {
            let made = output::own(&path, Existing::Continued, SECRET).map_err(io::Error::from);
            made.map_err(doing("write the key log"))?;
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

    /// Every logged line, the built-in server's last. `note` receives a warning about an unreadable file. Removes an
    /// empty file.
    pub fn secrets(&self, of_server: String, note: &mut dyn FnMut(&str)) -> String {
        let mut read = |path: &PathBuf| {
            Input::KeyLog.lossy_text(path).unwrap_or_else(|fault| {
                note(&format!("warning: no secrets from {}: {fault}", path.display()));
                String::new()
            })
        };
        let logged = self.ours.as_ref().map(&mut read).unwrap_or_default();
        if let Some(path) = self.ours.as_ref().filter(|_| logged.is_empty()) {
            // An empty file that cannot be removed is harmless.
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
    fn a_secret_that_both_ends_log_is_kept_once() {
        let parts = ["a 1\nb 2".to_owned(), String::new(), "b 2\nc 3\n".to_owned()];
        assert_eq!(distinct_lines(&parts), "a 1\nb 2\nc 3\n");
    }
}
