//! Bytes by phase, direction and layer, and their comparison with the summary.

use std::collections::BTreeMap;

use wirecost_results::summary::{Bytes, Cell, Count, Section};

use crate::common::frames::Connection;

/// What a part of a connection is for. Messages are counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Step {
    Connect,
    Message(u64),
    KeepAlive,
    Close,
}

/// What one phase is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sums {
    pub(crate) packets: u64,
    pub(crate) ip: u64,
    pub(crate) transport: u64,
    pub(crate) security: u64,
    pub(crate) application: u64,
    pub(crate) payload: u64,
}

impl Sums {
    pub(crate) const fn wire(&self) -> u64 {
        self.ip + self.transport + self.security + self.application + self.payload
    }

    fn add(&mut self, other: &Self) {
        self.packets += other.packets;
        self.ip += other.ip;
        self.transport += other.transport;
        self.security += other.security;
        self.application += other.application;
        self.payload += other.payload;
    }
}

/// The books of one connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Books {
    sums: BTreeMap<(Step, usize), Sums>,
}

impl Books {
    pub(crate) fn enter(&mut self, step: Step, way: usize, sums: &Sums) {
        self.sums.entry((step, way)).or_default().add(sums);
    }

    /// Bytes of one step; nothing where there were none.
    pub(crate) fn sum(&self, step: Step, way: usize) -> Sums {
        self.sums.get(&(step, way)).copied().unwrap_or_default()
    }

    /// The measured message is the last one.
    fn measured(&self) -> Step {
        let messages = self
            .sums
            .keys()
            .map(|(step, _)| *step)
            .filter(|step| matches!(step, Step::Message(_)));
        messages.max().expect("a message")
    }

    fn wire(&self) -> u64 {
        self.sums.values().map(Sums::wire).sum()
    }
}

/// Keeps the books of every measured connection, by the cell that it belongs to; every byte of it is entered.
pub(crate) fn keep(
    connections: &[Connection],
    books_of: impl Fn(&Connection) -> Books,
) -> BTreeMap<String, Vec<Books>> {
    let mut cells: BTreeMap<String, Vec<Books>> = BTreeMap::new();
    for connection in connections {
        let books = books_of(connection);
        let frames = connection.frames.iter();
        let captured: u64 = frames.map(|frame| frame.packet.wire_bytes).sum();
        assert_eq!(
            captured,
            books.wire(),
            "{}: the capture and the layers",
            connection.cell
        );
        cells.entry(connection.cell.clone()).or_default().push(books);
    }
    cells
}

/// The name that a capture's comments give a cell.
pub(crate) fn name(cell: &Cell) -> String {
    let start = match cell.start.as_str() {
        "cold" => String::new(),
        start => format!(" {start}"),
    };
    format!("{}{start} {} B", cell.stack, cell.payload_bytes)
}

/// The step of a connection that a section is of.
type StepOf = fn(&Books) -> Step;

/// Holds a cell's sections against the books of its devices.
pub(crate) fn check(cell: &Cell, devices: &[Books]) {
    let place = name(cell);
    assert!(cell.valid, "{place}: {:?}", cell.warnings);
    assert!(
        cell.all_arrived() && cell.outcomes.add_up(),
        "{place}: {:?}",
        cell.outcomes
    );
    assert_eq!(devices.len() as u64, cell.outcomes.offered, "{place}: devices");
    let of = |step: StepOf, way: usize| -> Vec<Sums> {
        devices.iter().map(|books| books.sum(step(books), way)).collect()
    };
    let sections: [(&str, Option<&Section>, StepOf); 4] = [
        ("connect", cell.connect.as_ref(), |_| Step::Connect),
        ("message", cell.message.as_ref(), Books::measured),
        ("keep_alive", cell.keep_alive.as_ref(), |_| Step::KeepAlive),
        ("close", cell.close.as_ref(), |_| Step::Close),
    ];
    for (phase, section, step) in sections {
        for way in 0..2 {
            let place = format!("{place}, {phase}, {}", ["up", "down"][way]);
            check_section(&place, section, way, &of(step, way));
        }
    }
}

fn check_section(place: &str, section: Option<&Section>, way: usize, devices: &[Sums]) {
    let Some(section) = section else {
        let nothing = devices.iter().all(|sums| *sums == Sums::default());
        assert!(nothing, "{place} is null: {devices:?}");
        return;
    };
    assert_eq!(section.samples, devices.len() as u64, "{place}: samples");
    let bytes: &Bytes = [&section.up, &section.down][way];
    type Layer = fn(&Sums) -> u64;
    let layers: [(&str, &Count, Layer); 7] = [
        ("packets", &bytes.packets, |sums| sums.packets),
        ("ip", &bytes.ip, |sums| sums.ip),
        ("transport", &bytes.transport, |sums| sums.transport),
        ("security", &bytes.security, |sums| sums.security),
        ("application", &bytes.application, |sums| sums.application),
        ("payload", &bytes.payload, |sums| sums.payload),
        ("wire", &bytes.wire, Sums::wire),
    ];
    let all: f64 = section
        .by_cause
        .values()
        .map(|mean| [mean.up, mean.down][way])
        .sum();
    let all = (all * section.samples as f64).round() as u64;
    assert_eq!(all, bytes.wire.sum, "{place}: the causes and the whole");
    for (layer, count, of) in layers {
        let seen: Vec<u64> = devices.iter().map(of).collect();
        assert_eq!(
            count.sum,
            seen.iter().sum::<u64>(),
            "{place}: {layer} of {devices:?}"
        );
        assert_eq!(Some(&count.min), seen.iter().min(), "{place}: least {layer}");
        assert_eq!(Some(&count.max), seen.iter().max(), "{place}: most {layer}");
    }
}
