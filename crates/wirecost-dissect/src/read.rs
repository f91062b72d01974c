//! Reads a whole capture.

use std::io::Read;

use wirecost_wire::capture::{Item, ReadError, Reader};
use wirecost_wire::pcapng::SECRETS_TLS_KEY_LOG;

use crate::{Dissector, Report};

/// The result of reading a capture.
#[derive(Debug)]
pub struct Reading {
    /// The report of all packets that could be read.
    pub report: Report,
    /// Why reading stopped before the end.
    pub fault: Option<ReadError>,
}

/// Reads a pcap or pcapng file. `key_log` adds to the secrets in the file.
///
/// # Errors
/// The file is empty or not a capture. A file that is truncated or damaged further on is not an error: see
/// [`Reading::fault`].
pub fn read(source: impl Read, key_log: &str) -> Result<Reading, ReadError> {
    let mut reader = Reader::new(source)?;
    let mut dissector = Dissector::new();
    dissector.add_secrets(key_log);
    let fault = loop {
        match reader.item() {
            Ok(Some(Item::Packet(packet))) => dissector.packet(&packet),
            Ok(Some(Item::Secrets(secrets))) if secrets.secrets_type == SECRETS_TLS_KEY_LOG => {
                dissector.add_secrets(&String::from_utf8_lossy(&secrets.data));
            }
            Ok(Some(Item::Secrets(_))) => {}
            Ok(None) => break None,
            Err(fault) => break Some(fault),
        }
    };
    Ok(Reading {
        report: dissector.finish(),
        fault,
    })
}
