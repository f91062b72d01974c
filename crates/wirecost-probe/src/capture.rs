//! Writes the packets of a probe to a file.

use std::fs::{File, Permissions};
use std::io::{self, BufWriter};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use wirecost_files::output::{self, Existing, SECRET};
use wirecost_live::capture::{INTERFACE, way};
use wirecost_wire::pcapng::{Capture, Writer};

use super::Probe;

impl Probe {
    /// Writes the captured packets, and the secrets that decrypt them where they were kept. Only the owner can read the file.
    ///
    /// # Errors
    /// The file system refuses.
    pub fn write_capture(&self, path: &Path) -> io::Result<()> {
        let keys = self.keys.text();
        let file = output::own(path, Existing::Replaced, SECRET)?;
        // An existing file keeps its mode when it is opened.
        file.set_permissions(Permissions::from_mode(SECRET))?;
        self.write(file, &keys).map_err(io::Error::other)
    }

    fn write(&self, file: File, keys: &str) -> Result<(), wirecost_wire::pcapng::WriteError> {
        let capture = Capture {
            user_application: Some(concat!("wirecost ", env!("CARGO_PKG_VERSION"))),
            comment: Some("IP packets of one probe, as they passed the device's interface"),
            interface: Some(INTERFACE),
            tls_key_log: (!keys.is_empty()).then_some(keys.as_bytes()),
            ..Capture::default()
        };
        let mut writer = Writer::new(BufWriter::new(file), &capture)?;
        for (direction, packet) in &self.packets {
            let at = self.clock.utc_nanos(packet.at);
            writer.packet(way(*direction), at, &packet.bytes, None)?;
        }
        writer.finish().map(drop)
    }
}
