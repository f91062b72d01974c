//! All-in bytes: what a message costs if a device's whole life in the cell counts.

use crate::summary::{AllIn, Bytes, Cell, Section};

/// The parts of the all-in bytes, in bytes per message, both directions together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Parts {
    /// The share of connects and closes.
    pub connection: f64,
    /// The messages themselves.
    pub message: f64,
    /// The share of keep-alive packets.
    pub keep_alive: f64,
}

impl AllIn {
    /// The all-in bytes from the sections of a cell; `None` where no message was sent.
    pub fn from_cell(cell: &Cell) -> Option<Self> {
        let messages = messages(cell)?;
        let sum = |way: fn(&Section) -> &Bytes| {
            let bytes = sections(cell).map(|section| way(section).wire.sum);
            bytes.sum::<u64>() as f64 / messages as f64
        };
        Some(Self {
            messages,
            up: sum(|section| &section.up),
            down: sum(|section| &section.down),
        })
    }

    /// The bytes of both directions per message.
    pub fn each(&self) -> f64 {
        self.up + self.down
    }

    /// The bytes of both directions of all devices.
    pub fn sum(&self) -> f64 {
        (self.each() * self.messages as f64).round()
    }
}

impl Parts {
    /// The parts of the all-in bytes of a cell; `None` where no message was sent.
    pub fn from_cell(cell: &Cell) -> Option<Self> {
        let messages = messages(cell)? as f64;
        let share = |sections: &[&Option<Section>]| {
            let bytes = sections.iter().copied().flatten();
            let bytes = bytes.map(|section| section.up.wire.sum + section.down.wire.sum);
            bytes.sum::<u64>() as f64 / messages
        };
        Some(Self {
            connection: share(&[&cell.connect, &cell.close]),
            message: share(&[&cell.message]),
            keep_alive: share(&[&cell.keep_alive]),
        })
    }
}

impl Cell {
    /// The all-in bytes: those that the summary holds, or, in a summary of an earlier version, those of its sections.
    pub fn all_in(&self) -> Option<AllIn> {
        self.all_in.or_else(|| AllIn::from_cell(self))
    }
}

fn messages(cell: &Cell) -> Option<u64> {
    let messages = cell.message.as_ref()?.samples;
    (messages > 0).then_some(messages)
}

/// The sections of a device's own link. The subscriber's is another one.
fn sections(cell: &Cell) -> impl Iterator<Item = &Section> {
    let Cell {
        connect,
        message,
        keep_alive,
        close,
        ..
    } = cell;
    [connect, message, keep_alive, close].into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::Count;

    fn section(samples: u64, up: u64, down: u64) -> Option<Section> {
        let bytes = |sum| Bytes {
            wire: Count {
                sum,
                ..Count::default()
            },
            ..Bytes::default()
        };
        Some(Section {
            samples,
            up: bytes(up),
            down: bytes(down),
            ..Section::default()
        })
    }

    /// Two devices, one of which connected three times, with four messages.
    fn cell() -> Cell {
        Cell {
            connect: section(4, 400, 200),
            message: section(4, 800, 40),
            keep_alive: section(2, 52, 52),
            close: section(2, 80, 40),
            delivery: section(4, 9_999, 9_999),
            ..Cell::default()
        }
    }

    #[test]
    fn every_connect_of_a_device_counts_and_the_subscriber_does_not() {
        let all_in = AllIn::from_cell(&cell()).expect("messages");
        assert_eq!((all_in.messages, all_in.up, all_in.down), (4, 333.0, 83.0));
        assert_eq!((all_in.each(), all_in.sum()), (416.0, 1_664.0));
    }

    #[test]
    fn the_parts_add_up_to_the_whole() {
        let cell = cell();
        let parts = Parts::from_cell(&cell).expect("messages");
        assert_eq!(
            (parts.connection, parts.message, parts.keep_alive),
            (180.0, 210.0, 26.0)
        );
        let sum = parts.connection + parts.message + parts.keep_alive;
        assert_eq!(Some(sum), cell.all_in().map(|all_in| all_in.each()));
    }

    #[test]
    fn without_a_message_there_is_nothing_to_divide_by() {
        let none = Cell {
            message: section(0, 0, 0),
            ..cell()
        };
        assert_eq!(none.all_in(), None);
        assert_eq!(Cell::default().all_in(), None);
    }
}
