//! The layers of a request stream's bytes.

use std::collections::BTreeMap;

use quinn_proto::Side;
use wirecost_proto::Layer;

use crate::http3::reader::{Part, Reader};

/// The most bytes held because bytes before them are missing. Beyond it, the stream is not read further, and its
/// bytes count as content.
const MAX_HELD_BYTES: usize = 64 << 10;

/// Approximate memory overhead of a held piece.
const PIECE_BYTES: usize = 64;

/// The layers of a stream's bytes, from its start.
#[derive(Debug, Default)]
pub(super) struct Runs {
    /// The end of each run, and its layer.
    ends: Vec<(u64, Layer)>,
}

impl Runs {
    pub(super) fn push(&mut self, len: u64, layer: Layer) {
        let end = self.ends.last().map_or(0, |(end, _)| *end).saturating_add(len);
        match self.ends.last_mut() {
            Some(last) if last.1 == layer => last.0 = end,
            _ => self.ends.push((end, layer)),
        }
    }

    /// The layer at `offset` and the end of its run. Beyond the known runs there is most likely content: the lost
    /// beginning of the stream held the frame headers.
    pub(super) fn at(&self, offset: u64) -> (Layer, u64) {
        let run = self.ends.partition_point(|(end, _)| *end <= offset);
        self.ends
            .get(run)
            .map_or((Layer::Payload, u64::MAX), |(end, layer)| (*layer, *end))
    }
}

/// Reads the frames of a stream from pieces in any order.
#[derive(Debug)]
pub(super) struct StreamLayers {
    reader: Reader,
    /// The offset up to which the stream is read.
    read: u64,
    held: BTreeMap<u64, Vec<u8>>,
    /// Memory of the held pieces in bytes.
    held_bytes: usize,
    has_lost_track: bool,
}

impl Default for StreamLayers {
    fn default() -> Self {
        Self {
            // It reads the streams of either end, and they carry no pushes.
            reader: Reader::new(Side::Client),
            read: 0,
            held: BTreeMap::new(),
            held_bytes: 0,
            has_lost_track: false,
        }
    }
}

impl StreamLayers {
    /// Handles the bytes at `offset` and notes the layers of all bytes that can be read now.
    pub(super) fn read(&mut self, offset: u64, bytes: &[u8], runs: &mut Runs) {
        if self.has_lost_track {
            return;
        }
        if offset > self.read {
            return self.hold(offset, bytes);
        }
        self.read_on(offset, bytes, runs);
        while let Some(entry) = self.held.first_entry().filter(|entry| *entry.key() <= self.read) {
            let (offset, bytes) = entry.remove_entry();
            self.held_bytes -= taken_by(&bytes);
            self.read_on(offset, &bytes, runs);
        }
    }

    fn hold(&mut self, offset: u64, bytes: &[u8]) {
        let taken = taken_by(bytes);
        if self.held_bytes + taken > MAX_HELD_BYTES {
            return self.lose_track();
        }
        let replaced = self.held.insert(offset, bytes.to_vec());
        self.held_bytes += taken;
        self.held_bytes -= replaced.map_or(0, |piece| taken_by(&piece));
    }

    fn lose_track(&mut self) {
        self.has_lost_track = true;
        self.held.clear();
        self.held_bytes = 0;
    }

    /// Reads the new part of bytes that begin at or before the reader's offset.
    fn read_on(&mut self, offset: u64, bytes: &[u8], runs: &mut Runs) {
        let known = usize::try_from(self.read.saturating_sub(offset)).unwrap_or(usize::MAX);
        let Some(mut rest) = bytes.get(known..) else {
            return;
        };
        self.read += rest.len() as u64;
        loop {
            match self.reader.next(&mut rest) {
                Ok(Some(Part::Frame {
                    header,
                    content,
                    is_content,
                })) => {
                    let layer = if is_content {
                        Layer::Payload
                    } else {
                        Layer::Application
                    };
                    runs.push(header as u64, Layer::Application);
                    runs.push(content, layer);
                }
                Ok(Some(_)) => {}
                Ok(None) => return,
                // The stream's own reader reports the error.
                Err(_) => return self.lose_track(),
            }
        }
    }
}

/// Memory of a held piece in bytes.
const fn taken_by(piece: &[u8]) -> usize {
    piece.len() + PIECE_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_in_any_order_give_the_layers_of_the_stream() {
        let stream = b"\x01\x02ab\x00\x03con\x00\x04tent\x01\x01t";
        for cut in 1..stream.len() {
            let (mut layers, mut runs) = (StreamLayers::default(), Runs::default());
            let (first, second) = stream.split_at(cut);
            layers.read(cut as u64, second, &mut runs);
            layers.read(0, first, &mut runs);
            let layers: Vec<Layer> = (0..stream.len() as u64).map(|at| runs.at(at).0).collect();
            let payload = |at: &usize| layers[*at] == Layer::Payload;
            let payload: Vec<usize> = (0..stream.len()).filter(payload).collect();
            assert_eq!(payload, [6, 7, 8, 11, 12, 13, 14], "cut at {cut}");
        }
    }

    #[test]
    fn read_pieces_take_no_memory() {
        let (mut layers, mut runs) = (StreamLayers::default(), Runs::default());
        // A frame of an unknown type, with its pieces in reverse order and twice each.
        let stream = b"\x21\x05abcde";
        for round in 0..2 {
            for offset in (1..stream.len()).rev() {
                layers.read(offset as u64, &stream[offset..], &mut runs);
            }
            let held: usize = layers.held.values().map(|piece| taken_by(piece)).sum();
            assert_eq!(layers.held_bytes, held, "round {round}");
        }
        layers.read(0, &stream[..1], &mut runs);
        assert_eq!((layers.read, layers.held_bytes), (stream.len() as u64, 0));
    }

    #[test]
    fn held_pieces_are_limited() {
        let (mut layers, mut runs) = (StreamLayers::default(), Runs::default());
        for offset in 1..200_000 {
            // A STREAM frame without data may have any offset within the credit.
            layers.read(offset, &[], &mut runs);
        }
        assert!(layers.held.len() <= MAX_HELD_BYTES / PIECE_BYTES);
    }
}
