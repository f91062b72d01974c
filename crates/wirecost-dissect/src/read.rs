//! Reads a whole capture.

use std::io::Read;

use wirecost_wire::capture::{Item, ReadError, Reader};
use wirecost_wire::pcapng::SECRETS_TLS_KEY_LOG;

use crate::dissector::KeptPackets;
use crate::hosts::Log;
use crate::sightings::Sightings;
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
    read_with(Dissector::new(), source, key_log).map(|(reading, _)| reading)
}

/// Reads a file as [`read`] does, and keeps its packets for an observer.
///
/// # Errors
/// As [`read`].
pub fn observe(source: impl Read, key_log: &str) -> Result<(Reading, Sightings), ReadError> {
    let (reading, kept) = read_with(Dissector::observing(), source, key_log)?;
    Ok((reading, kept.sightings))
}

/// Reads a file as [`read`] does, and keeps a line for each packet, to compare it with another host's.
///
/// # Errors
/// As [`read`].
pub fn read_logged(source: impl Read, key_log: &str) -> Result<(Reading, Log), ReadError> {
    let (reading, kept) = read_with(Dissector::logging(), source, key_log)?;
    Ok((reading, kept.log))
}

fn read_with(
    mut dissector: Dissector,
    source: impl Read,
    key_log: &str,
) -> Result<(Reading, KeptPackets), ReadError> {
    let mut reader = Reader::new(source)?;
    dissector.add_secrets(key_log);
    let fault = loop {
        match reader.item() {
            Ok(Some(Item::Packet(packet))) => dissector.packet(&packet),
            Ok(Some(Item::Secrets(secrets))) if secrets.secrets_type == SECRETS_TLS_KEY_LOG => {
                dissector.add_secrets(&String::from_utf8_lossy(&secrets.data));
            }
            Ok(Some(Item::Secrets(_))) => {}
            Ok(Some(Item::Interface { number, name })) => dissector.interface(number, name),
            Ok(Some(Item::Lost { interface, packets })) => dissector.lost(interface, packets),
            Ok(Some(Item::Unread { block_type })) => dissector.unread_block(block_type),
            Ok(None) => break None,
            Err(fault) => break Some(fault),
        }
    };
    let (report, kept) = dissector.finish_kept();
    Ok((Reading { report, fault }, kept))
}
