//! The join file: what an agent needs to take part in one run. It holds a secret.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use serde::{Deserialize, Serialize};
use wirecost_files::output::{self, Existing, SECRET};
use wirecost_security::pinned::{Pin, Secret};

/// A text is not a join file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a join file of wirecost: {0}")]
pub struct NotAJoinFile(String);

/// What an agent needs to take part in one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinFile {
    /// The coordinator, as `HOST:PORT`.
    pub coordinator: String,
    /// The hash of the coordinator's certificate.
    pub pin: Pin,
    /// The secret of the run. Each agent proves once that it has it.
    pub secret: Secret,
}

/// The file as JSON.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    coordinator: String,
    certificate_sha256: String,
    secret: String,
}

impl JoinFile {
    /// The text of the file.
    pub fn to_text(&self) -> String {
        let text = Text {
            coordinator: self.coordinator.clone(),
            certificate_sha256: self.pin.to_string(),
            secret: self.secret.reveal(),
        };
        super::message::to_line(&text) + "\n"
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// It is another text.
    pub fn read(text: &str) -> Result<Self, NotAJoinFile> {
        let wrong = |what: &str| NotAJoinFile(what.to_owned());
        // The library's message would repeat the secret.
        let read: Text = serde_json::from_str(text).map_err(|_| wrong("it has other fields"))?;
        let is_address = |text: &str| {
            text.rsplit_once(':')
                .is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok())
        };
        if !is_address(&read.coordinator) {
            return Err(wrong("the coordinator is not HOST:PORT"));
        }
        Ok(Self {
            coordinator: read.coordinator,
            pin: read
                .certificate_sha256
                .parse()
                .map_err(|_| wrong("the hash is not one of SHA-256"))?,
            secret: read.secret.parse().map_err(|_| wrong("it has no secret"))?,
        })
    }

    /// Creates the file, for its owner alone.
    ///
    /// # Errors
    /// The file exists already, or cannot be written.
    pub fn create(&self, path: &Path) -> io::Result<()> {
        let mut file = output::own(path, Existing::Refused, SECRET)?;
        file.write_all(self.to_text().as_bytes()).inspect_err(|_| {
            // A file without its end is of no use.
            drop(fs::remove_file(path));
        })
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn file() -> JoinFile {
        JoinFile {
            coordinator: "[fd00::1]:7700".into(),
            pin: "ab".repeat(32).parse().expect("a hash"),
            secret: Secret::generate().expect("a secret"),
        }
    }

    #[test]
    fn a_join_file_reads_back_and_is_its_owners_alone() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("join.token");
        let file = file();
        file.create(&path).expect("written");
        let mode = fs::metadata(&path).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let text = fs::read_to_string(&path).expect("a text");
        assert_eq!(JoinFile::read(&text).as_ref(), Ok(&file));
        assert!((text.len() as u64) < wirecost_files::Input::JoinFile.bound());
        let again = file.create(&path).expect_err("it is there");
        assert_eq!(again.kind(), io::ErrorKind::AlreadyExists);
    }

    #[test]
    fn another_text_is_refused_without_repeating_it() {
        let secret = file().secret.reveal();
        let text = file().to_text();
        for wrong in [
            String::new(),
            format!("{{\"secret\":\"{secret}\"}}"),
            text.replace("7700", "no port"),
            text.replace("abab", "xyxy"),
            text.replace("\"secret\":\"", "\"secret\":\"0"),
            text.replace('}', ",\"more\":1}"),
        ] {
            let refused = JoinFile::read(&wrong).expect_err(&wrong).to_string();
            assert!(!refused.contains(&secret), "{refused}");
        }
    }
}
