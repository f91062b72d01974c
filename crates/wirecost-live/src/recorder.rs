//! Streams every packet that enters the link to a temporary file that disappears with the process.
//!
//! The file has no name. A packet is written when it enters, each delivery when it happens. [`Recording`] reads both
//! back.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

use wirecost_files::output;
use wirecost_proto::hosts::HostIndex;
use wirecost_proto::record::{Record, RecordedDelivery, RecordedPacket};
use wirecost_proto::{Direction, Fate, Instant};

/// Writes the temporary file.
#[derive(Debug)]
pub struct Recorder {
    /// `None` if nothing is kept.
    file: Option<BufWriter<File>>,
    /// Which packets are kept; `None` if all are.
    selection: Option<Selection>,
    packets: u64,
    error: Option<io::Error>,
}

/// The packets that a recorder keeps.
#[derive(Clone, Copy, Debug)]
pub struct Selection {
    /// Those of the devices below this index.
    pub devices: HostIndex,
    /// At most this number.
    pub packets: u64,
}

/// The index of a packet that is not kept. Its deliveries are not kept either.
const NOT_KEPT: u64 = u64::MAX;
const PACKET: u8 = 1;
const DELIVERY: u8 = 2;
const NO_HOST: u32 = u32::MAX;

impl Recorder {
    /// A recorder that writes to an unnamed file in `folder`.
    ///
    /// # Errors
    /// The folder's file system refuses.
    pub fn create(folder: &Path) -> io::Result<Self> {
        let file = output::unnamed(folder)?;
        Ok(Self {
            file: Some(BufWriter::with_capacity(1 << 18, file)),
            selection: None,
            packets: 0,
            error: None,
        })
    }

    /// The same recorder, which keeps only the packets of a selection.
    #[must_use]
    pub const fn keeping(mut self, selection: Selection) -> Self {
        self.selection = Some(selection);
        self
    }

    /// A recorder that counts packets and keeps none.
    pub const fn of_nothing() -> Self {
        Self {
            file: None,
            selection: None,
            packets: 0,
            error: None,
        }
    }

    /// Whether the next packet is kept, if it is from or to this device.
    fn wants(&self, host: Option<HostIndex>) -> bool {
        self.selection.is_none_or(|selection| {
            self.packets < selection.packets && host.is_some_and(|host| host < selection.devices)
        })
    }

    /// Writes a packet that enters the link. Returns its index among the packets that are kept.
    pub fn packet(
        &mut self,
        host: Option<HostIndex>,
        direction: Direction,
        entered: Instant,
        fate: Fate,
        bytes: &[u8],
    ) -> u64 {
        if !self.wants(host) {
            return NOT_KEPT;
        }
        self.packets += 1;
        let number = self.packets - 1;
        // The disk was full before. Numbers go on, so that deliveries still find their packets.
        if self.file.is_none() {
            return number;
        }
        let mut header = [0u8; 19];
        header[0] = PACKET;
        header[1] = direction as u8;
        header[2] = fate_code(fate);
        header[3..7].copy_from_slice(&host.unwrap_or(NO_HOST).to_le_bytes());
        header[7..15].copy_from_slice(&entered.as_nanos().to_le_bytes());
        let len = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        header[15..19].copy_from_slice(&len.to_le_bytes());
        self.write(&header);
        self.write(bytes);
        number
    }

    /// Writes that a copy of a packet has left the link.
    pub fn delivery(&mut self, delivery: RecordedDelivery) {
        if self.file.is_none() || delivery.packet == NOT_KEPT {
            return;
        }
        let mut record = [0u8; 26];
        record[0] = DELIVERY;
        record[1..9].copy_from_slice(&delivery.packet.to_le_bytes());
        record[9..17].copy_from_slice(&delivery.planned.as_nanos().to_le_bytes());
        record[17..25].copy_from_slice(&delivery.actual.as_nanos().to_le_bytes());
        record[25] = u8::from(delivery.intact);
        self.write(&record);
    }

    /// Whether a write has failed (full disk). Nothing after it is recorded.
    pub fn has_failed(&self) -> bool {
        self.error.is_some()
    }

    fn write(&mut self, bytes: &[u8]) {
        let Some(file) = self.file.as_mut().filter(|_| self.error.is_none()) else {
            return;
        };
        self.error = file.write_all(bytes).err();
    }

    /// Ends the recording. If the disk was full, it holds the entries before that, and the error.
    pub fn finish(mut self) -> Recording {
        if let Some(Err(error)) = self.file.as_mut().map(Write::flush) {
            self.error.get_or_insert(error);
        }
        Recording {
            file: self.file.map(|file| file.into_parts().0),
            error: self.error,
        }
    }
}

/// A finished recording.
#[derive(Debug)]
pub struct Recording {
    /// `None` if nothing was kept.
    file: Option<File>,
    /// Why it is incomplete, if it is.
    pub error: Option<io::Error>,
}

impl Recording {
    /// Reads the entries in the order of writing.
    ///
    /// # Errors
    /// The temporary file cannot be read.
    pub fn records(&mut self) -> io::Result<Records<'_>> {
        if let Some(file) = &mut self.file {
            file.seek(SeekFrom::Start(0))?;
        }
        Ok(Records {
            reader: self
                .file
                .as_ref()
                .map(|file| BufReader::with_capacity(1 << 18, file)),
        })
    }

    /// Frees the disk space. No entries remain.
    ///
    /// # Errors
    /// The file system refuses.
    pub fn discard(&mut self) -> io::Result<()> {
        self.file.as_ref().map_or(Ok(()), |file| file.set_len(0))
    }
}

/// Iterates over a recording until its end, or until the entry that a full disk cut short.
#[derive(Debug)]
pub struct Records<'a> {
    reader: Option<BufReader<&'a File>>,
}

impl Records<'_> {
    fn read(&mut self) -> io::Result<Record> {
        match self.read_array::<1>()?[0] {
            PACKET => self.read_packet().map(Record::Packet),
            DELIVERY => self.read_delivery().map(Record::Delivery),
            other => Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("record type {other}"),
            )),
        }
    }

    fn read_packet(&mut self) -> io::Result<RecordedPacket> {
        let [direction, fate] = self.read_array::<2>()?;
        let host = u32::from_le_bytes(self.read_array()?);
        let entered = Instant::from_nanos(u64::from_le_bytes(self.read_array()?));
        let mut bytes = vec![0; u32::from_le_bytes(self.read_array()?) as usize];
        self.fill(&mut bytes)?;
        Ok(RecordedPacket {
            host: (host != NO_HOST).then_some(host),
            direction: if direction == Direction::Up as u8 {
                Direction::Up
            } else {
                Direction::Down
            },
            entered,
            fate: fate_of(fate),
            bytes,
        })
    }

    fn read_delivery(&mut self) -> io::Result<RecordedDelivery> {
        let mut number = || self.read_array().map(u64::from_le_bytes);
        Ok(RecordedDelivery {
            packet: number()?,
            planned: Instant::from_nanos(number()?),
            actual: Instant::from_nanos(number()?),
            intact: self.read_array::<1>()?[0] != 0,
        })
    }

    fn read_array<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    fn fill(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        let reader = self.reader.as_mut().ok_or(io::ErrorKind::UnexpectedEof)?;
        reader.read_exact(bytes)
    }
}

impl Iterator for Records<'_> {
    type Item = io::Result<Record>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.read() {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => None,
            result => Some(result),
        }
    }
}

const FATES: [Fate; 7] = [
    Fate::Delivered,
    Fate::Lost,
    Fate::QueueDropped,
    Fate::TooLarge,
    Fate::Duplicated,
    Fate::Corrupted,
    Fate::Held,
];

fn fate_code(fate: Fate) -> u8 {
    FATES.iter().position(|&other| other == fate).unwrap_or(0) as u8
}

fn fate_of(code: u8) -> Fate {
    FATES.get(usize::from(code)).copied().unwrap_or(Fate::Delivered)
}

/// The recording of a link, on kernel sockets or in virtual time, which can be read several times.
pub trait Recorded {
    /// The entries in the order of their making.
    ///
    /// # Errors
    /// The recording cannot be read.
    fn entries(&mut self) -> io::Result<impl Iterator<Item = io::Result<Cow<'_, Record>>>>;

    /// Whether its end is missing.
    fn is_cut_short(&self) -> bool;
}

impl Recorded for Recording {
    fn entries(&mut self) -> io::Result<impl Iterator<Item = io::Result<Cow<'_, Record>>>> {
        Ok(self.records()?.map(|record| record.map(Cow::Owned)))
    }

    fn is_cut_short(&self) -> bool {
        self.error.is_some()
    }
}

/// A recording in memory. The entries are borrowed from it.
impl Recorded for &[Record] {
    fn entries(&mut self) -> io::Result<impl Iterator<Item = io::Result<Cow<'_, Record>>>> {
        Ok(self.iter().map(|record| Ok(Cow::Borrowed(record))))
    }

    fn is_cut_short(&self) -> bool {
        false
    }
}

/// The first intact delivery of every packet by its index, and how late each delivery was.
///
/// # Errors
/// The recording cannot be read.
pub fn deliveries(recorded: &mut impl Recorded) -> io::Result<(Vec<Option<Instant>>, Vec<u64>)> {
    let mut first: Vec<Option<Instant>> = Vec::new();
    let mut lateness = Vec::new();
    for record in recorded.entries()? {
        match record?.as_ref() {
            Record::Packet(_) => first.push(None),
            Record::Delivery(delivery) => {
                lateness.push(
                    delivery
                        .actual
                        .as_nanos()
                        .saturating_sub(delivery.planned.as_nanos()),
                );
                // A copy with a flipped bit does not count: its receiver drops it by the checksum.
                let slot = first.get_mut(delivery.packet as usize);
                if let Some(slot) = slot.filter(|_| delivery.intact) {
                    // Of duplicates the first counts: the second tells the receiver nothing.
                    *slot = [*slot, Some(delivery.actual)].into_iter().flatten().min();
                }
            }
        }
    }
    Ok((first, lateness))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_back_its_entries() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut recorder = Recorder::create(folder.path()).expect("a recorder");
        let at = Instant::from_millis;
        assert_eq!(
            recorder.packet(Some(7), Direction::Down, at(3), Fate::Duplicated, b"packet"),
            0
        );
        assert_eq!(recorder.packet(None, Direction::Up, at(4), Fate::Lost, b""), 1);
        let delivery = RecordedDelivery {
            packet: 0,
            planned: at(5),
            actual: at(6),
            intact: true,
        };
        let flipped = RecordedDelivery {
            intact: false,
            ..delivery
        };
        recorder.delivery(delivery);
        recorder.delivery(flipped);
        assert_eq!(
            std::fs::read_dir(folder.path()).expect("readable").count(),
            0,
            "the file has no name"
        );
        let records: Vec<Record> = recorder
            .finish()
            .records()
            .expect("readable")
            .map(|record| record.expect("whole"))
            .collect();
        let packet = RecordedPacket {
            host: Some(7),
            direction: Direction::Down,
            entered: at(3),
            fate: Fate::Duplicated,
            bytes: b"packet".to_vec(),
        };
        assert_eq!(records.len(), 4);
        assert_eq!(records[0], Record::Packet(packet));
        assert_eq!(records[2], Record::Delivery(delivery));
        assert_eq!(records[3], Record::Delivery(flipped));
    }

    #[test]
    fn a_recorder_of_nothing_counts_and_keeps_nothing() {
        let mut recorder = Recorder::of_nothing();
        for number in 0..2 {
            let index = recorder.packet(None, Direction::Up, Instant::START, Fate::Lost, b"packet");
            assert_eq!(index, number);
        }
        let mut recording = recorder.finish();
        assert_eq!(recording.records().expect("readable").count(), 0);
        recording.discard().expect("nothing to discard");
    }

    #[test]
    fn a_selection_keeps_the_first_packets_of_the_first_devices() {
        let folder = tempfile::tempdir().expect("a folder");
        let recorder = Recorder::create(folder.path()).expect("a recorder");
        let mut recorder = recorder.keeping(Selection {
            devices: 2,
            packets: 2,
        });
        for (millis, host) in (1..).zip([Some(0), Some(2), None, Some(1), Some(0)]) {
            let at = Instant::from_millis(millis);
            let packet = recorder.packet(host, Direction::Up, at, Fate::Delivered, b"packet");
            recorder.delivery(RecordedDelivery {
                packet,
                planned: at,
                actual: at,
                intact: true,
            });
        }
        let (first, _) = deliveries(&mut recorder.finish()).expect("readable");
        assert_eq!(first, [1, 4].map(|millis| Some(Instant::from_millis(millis))));
    }

    #[test]
    fn every_fate_survives() {
        for fate in FATES {
            assert_eq!(fate_of(fate_code(fate)), fate);
        }
    }

    #[test]
    fn a_copy_with_a_flipped_bit_is_not_an_arrival() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut recorder = Recorder::create(folder.path()).expect("a recorder");
        let at = Instant::from_millis;
        for intact in [[false, true], [false, false]] {
            let packet = recorder.packet(Some(0), Direction::Up, at(0), Fate::Duplicated, b"packet");
            for (millis, intact) in (5..).zip(intact) {
                let (planned, actual) = (at(millis), at(millis));
                recorder.delivery(RecordedDelivery {
                    packet,
                    planned,
                    actual,
                    intact,
                });
            }
        }
        let (first, lateness) = deliveries(&mut recorder.finish()).expect("readable");
        assert_eq!(first, [Some(at(6)), None]);
        assert_eq!(lateness, [0; 4]);
    }
}
