//! The file of readings that the database does not take: one line of JSON for each.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::json;
use wirecost_files::output::{self, Existing, SECRET};
use wirecost_store::keeper::Aside;

/// Bytes that are encoded at a time: whole groups of three.
const CHUNK: usize = 3 << 14;

/// The file, which exists once a reading is set aside.
pub(super) struct AsideFile {
    path: PathBuf,
    file: Option<File>,
}

impl AsideFile {
    pub(super) const fn new(path: PathBuf) -> Self {
        Self { path, file: None }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Appends a reading. It is on disk when this returns; after a failure, no part of it is in the file.
    pub(super) fn write(&mut self, aside: &Aside) -> io::Result<()> {
        let file = match self.file.take() {
            Some(file) => file,
            // Readings are their owner's alone.
            None => output::own(&self.path, Existing::Continued, SECRET)?,
        };
        let before = file.metadata()?.len();
        if let Err(error) = append(&file, aside).and_then(|()| file.sync_data()) {
            drop(file.set_len(before));
            return Err(error);
        }
        self.file = Some(file);
        Ok(())
    }
}

fn append(file: &File, aside: &Aside) -> io::Result<()> {
    let since_1970 = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    let key = aside.key();
    let head = json!({
        "sender": &*key.sender,
        "number": key.number,
        "unix_ms": u64::try_from(since_1970.as_millis()).unwrap_or(u64::MAX),
        "why": aside.why().as_str(),
    });
    let head = head.to_string();
    let mut out = BufWriter::new(file);
    // The payload is added by hand: in a JSON value it would be in memory once more, and as text.
    write!(out, "{},\"base64\":\"", head.strip_suffix("}").unwrap_or(&head))?;
    // A chunk that is no multiple of three bytes would get padding in the middle of the text.
    for chunk in aside.payload().chunks(CHUNK) {
        out.write_all(BASE64.encode(chunk).as_bytes())?;
    }
    out.write_all(b"\"}\n")?;
    out.flush()
}
