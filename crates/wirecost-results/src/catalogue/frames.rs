//! The bytes of a cell's session as a sniffer counts them.

use wirecost_proto::Framing;

use super::Aggregation;
use super::read::{both_ways, count, session};
use crate::summary::{Bytes, Cell, Count, Frames, Section, Summary};

/// Which direction of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Up,
    Down,
    Both,
}

impl Frames {
    /// The frames of a cell; `None` where the framing has none.
    pub fn from_cell(cell: &Cell, framing: Framing) -> Option<Self> {
        let bytes = |way| bytes(cell, framing, way, Aggregation::Mean);
        Some(Self {
            framing: framing.name().to_owned(),
            header_bytes: framing.header_bytes()?,
            up: bytes(Way::Up),
            down: bytes(Way::Down),
        })
    }
}

impl Summary {
    /// Counts the frames of every cell, if the run asked for them.
    pub fn count_frames(&mut self) {
        let framing = self.scenario.framing();
        for cell in &mut self.cells {
            cell.frames = Frames::from_cell(cell, framing);
        }
    }
}

/// The bytes of the frames of a cell's connect, messages and close; `None` where the run did not ask for frames.
pub(super) fn frame_bytes(cell: &Cell, way: Way, of: Aggregation) -> Option<f64> {
    let framing = cell.frames.as_ref()?.framing.parse().ok()?;
    bytes(cell, framing, way, of)
}

fn bytes(cell: &Cell, framing: Framing, way: Way, of: Aggregation) -> Option<f64> {
    let sum = |figure: fn(&Bytes) -> Count| {
        session(cell, |section: &Section| match way {
            Way::Up => count(figure(&section.up), of),
            Way::Down => count(figure(&section.down), of),
            Way::Both => both_ways(section, figure, of),
        })
    };
    framing.frame_bytes(sum(|bytes| bytes.packets)?, sum(|bytes| bytes.wire)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::Metric;

    fn section(packets: u64, wire: u64) -> Option<Section> {
        let count = |value: u64| Count {
            mean: value as f64,
            sum: 2 * value,
            min: value,
            max: value,
        };
        Some(Section {
            up: Bytes {
                packets: count(packets),
                wire: count(wire),
                ..Bytes::default()
            },
            ..Section::default()
        })
    }

    #[test]
    fn the_frames_of_a_session_are_its_packets_with_their_headers() {
        let mut cell = Cell {
            connect: section(2, 92),
            message: section(2, 395),
            close: section(2, 104),
            ..Cell::default()
        };
        let up = |cell: &Cell, of| Metric::FrameBytesUp.of_cell(cell, of);
        assert_eq!(
            up(&cell, Aggregation::Mean),
            None,
            "the run did not ask for frames"
        );
        cell.frames = Frames::from_cell(&cell, Framing::Ethernet);
        assert_eq!(up(&cell, Aggregation::Mean), Some(591.0 + 6.0 * 14.0));
        assert_eq!(up(&cell, Aggregation::Sum), Some(2.0 * 675.0));
        assert_eq!(Metric::FrameBytes.of_cell(&cell, Aggregation::Mean), Some(675.0));
        let frames = cell.frames.as_ref().expect("frames");
        assert_eq!(
            (frames.up, frames.down, frames.header_bytes),
            (Some(675.0), Some(0.0), 14)
        );
        assert_eq!(Frames::from_cell(&cell, Framing::None), None);
    }
}
