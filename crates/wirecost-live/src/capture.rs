//! The packets of an emulated link as a pcapng file that only its owner may read.

use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::Path;

use wirecost_files::output::{self, Existing, SECRET};
use wirecost_proto::Direction;
use wirecost_wire::pcapng::{Capture, Way, Writer};

/// The name of a capture's interface: the device's end of the link.
pub const INTERFACE: &str = "link";

/// The way of a packet through that interface: up is outbound.
pub const fn way(direction: Direction) -> Way {
    match direction {
        Direction::Up => Way::Outbound,
        Direction::Down => Way::Inbound,
    }
}

/// What the packets of a capture are.
pub const AT_ENTRY: &str = "IP packets as they entered the link, before any impairment";
/// What they are with segmentation offload.
pub const BEHIND_OFFLOAD: &str = "captured behind segmentation offload, not packets on the wire: TCP segments before they are cut to the MTU, with checksums \
     that are not complete";

/// Opens a capture at `path` with `keys`, the secrets of its connections. Only its owner may read it: packets contain
/// passwords.
///
/// # Errors
/// The file system refuses.
pub fn writer(path: &Path, keys: &str) -> io::Result<Writer<BufWriter<File>>> {
    writer_about(path, keys, AT_ENTRY)
}

/// The same with another sentence about what the packets are.
///
/// # Errors
/// The file system refuses.
pub fn writer_about(path: &Path, keys: &str, about: &str) -> io::Result<Writer<BufWriter<File>>> {
    if path.exists() {
        // Writing to an existing file would keep its permissions, and a process that has it open could read the secrets.
        fs::remove_file(path)?;
    }
    let file = output::own(path, Existing::Replaced, SECRET)?;
    let capture = Capture {
        user_application: Some(concat!("wirecost ", env!("CARGO_PKG_VERSION"))),
        comment: Some(about),
        interface: Some(INTERFACE),
        tls_key_log: (!keys.is_empty()).then_some(keys.as_bytes()),
        ..Capture::default()
    };
    Writer::new(BufWriter::with_capacity(1 << 18, file), &capture).map_err(io::Error::other)
}

/// Flushes a capture to the disk.
///
/// # Errors
/// The file system refuses.
pub fn flush(writer: Writer<BufWriter<File>>) -> io::Result<()> {
    let file = writer.finish().map_err(io::Error::other)?;
    file.into_inner().map_err(|error| error.into_error())?.sync_data()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_capture_does_not_inherit_the_mode_of_an_existing_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("all.pcapng");
        for keys in ["", "CLIENT_RANDOM 00 00\n"] {
            fs::write(&path, "old").expect("a file");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("its mode");
            flush(writer(&path, keys).expect("a capture")).expect("written");
            let metadata = path.metadata().expect("a file");
            assert_eq!(metadata.permissions().mode() & 0o777, 0o600, "{keys:?}");
        }
    }
}
