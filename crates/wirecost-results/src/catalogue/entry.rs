//! The parts of an entry of the catalogue.

use super::Aggregation;
use super::read::Reader;
use crate::load::PhaseFigures;
use crate::nbiot::{Estimate, Point, RunFigures};
use crate::samples::SampleRow;
use crate::standing::Subject;
use crate::summary::{Cell, Outcomes, Times};

/// What figures are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// Cells of comparisons.
    Cells,
    /// Phases of loads.
    Loads,
    /// Points of reports in NB-IoT cells: a curve at a load.
    Points,
}

/// The quantity of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Seconds.
    Time,
    /// Bytes.
    Bytes,
    /// Messages per second.
    PerSecond,
    /// Bits per second.
    BitRate,
    /// A count or a ratio.
    Number,
    /// A share, 1 for all.
    Share,
    /// Joules.
    Energy,
    /// Money, in the currency of a tariff.
    Money,
}

/// What the figure of a cell is modelled by, from its packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelledBy {
    /// A device file: energy.
    Device,
    /// The interval between its readings: a month.
    Month,
    /// The month and a tariff file: money.
    Tariff,
}

/// The figures that a metric has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Distribution,
    PerMessage,
    PerMessageEachWay,
    /// A count of messages, which also has a share of the offered messages.
    Counted,
    /// Any other count.
    Number,
    Share,
    Sum,
    Value,
    /// Two quantiles, because no others are kept.
    TwoQuantiles,
    Mean,
    /// A mean, and the least that it can be.
    MeanAndMin,
}

/// What a phase of a load must do to have a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Nothing: every phase has it.
    Nothing,
    /// It offers messages.
    Offers,
    /// It offers messages at a rate.
    OffersAtRate,
    /// Its messages are answered.
    Answers,
    /// Its messages are not answered, and our receivers or the server count the deliveries.
    Deliveries,
    /// `Answers` or `Deliveries`.
    Outcomes,
    /// `Answers` or `Deliveries`, at a rate.
    OutcomesAtRate,
    /// Devices connect, by an exchange before they may send.
    Connects,
    /// Devices connect, by whatever stack.
    Sockets,
    /// All devices connect again.
    Reconnects,
    /// Our receivers are there.
    Arrivals,
    /// Our receivers are there, and payloads say when they were intended.
    Delays,
    /// The number of expected deliveries is known.
    Expectations,
    /// The server stores messages for our receivers.
    Store,
    /// Subscribers poll.
    Polls,
    /// The load has a link; with sites there is a figure for each hop.
    Hops,
    /// The packets of senders are told from those of subscribers.
    SendersApart,
    /// The same, and there are subscribers.
    SubscribersApart,
    /// The CPU time of the server is read.
    CpuTime,
}

/// What a cell must do to have a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellNeeds {
    /// Nothing: every cell has it.
    Nothing,
    /// Its messages are answered.
    Answers,
    /// Its messages are not answered.
    NoAnswers,
    /// The run has a framing.
    Framing,
    /// A program of another maker runs in place of a stack.
    Program,
}

/// When the figure of a running phase is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    Early,
    /// Early where messages are answered; else the target tells what arrived when the phase is over.
    EarlyIfAnswered,
    Late,
}

/// The sections of a cell whose bytes and packets a figure is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sections {
    None,
    Message,
    Connect,
    All,
}

/// The column of a figure in tables of cells, and its map in reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableColumn {
    /// Its heading.
    pub name: &'static str,
    /// The unit below the heading.
    pub unit: &'static str,
}

/// The measurement of one device that a figure is of.
#[derive(Clone, Copy)]
pub(super) struct Sampled {
    read: fn(&SampleRow) -> Option<f64>,
    /// Whether it is the sum over the messages of the device.
    is_sum: bool,
}

/// An entry of the catalogue.
pub(super) struct Entry {
    pub(super) name: &'static str,
    pub(super) quantity: Quantity,
    pub(super) shape: Shape,
    pub(super) cell: Option<Reader<Cell>>,
    pub(super) phase: Option<Reader<PhaseFigures>>,
    pub(super) point: Option<Reader<Point>>,
    pub(super) sample: Option<Sampled>,
    /// One replication of a point.
    pub(super) replication: Option<fn(&RunFigures) -> Option<f64>>,
    pub(super) needs: Needs,
    pub(super) cell_needs: CellNeeds,
    pub(super) subject: Subject,
    pub(super) known: Known,
    pub(super) sections: Sections,
    pub(super) adds_up: bool,
    pub(super) grows: bool,
    pub(super) column: Option<TableColumn>,
    pub(super) csv: Option<&'static str>,
}

/// What a new entry may be.
impl Entry {
    pub(super) const fn new(name: &'static str, quantity: Quantity, shape: Shape) -> Self {
        Self {
            name,
            quantity,
            shape,
            cell: None,
            phase: None,
            point: None,
            sample: None,
            replication: None,
            needs: Needs::Nothing,
            cell_needs: CellNeeds::Nothing,
            subject: Subject::Count,
            known: Known::Early,
            sections: Sections::None,
            adds_up: false,
            grows: false,
            column: None,
            csv: None,
        }
    }

    /// A kind of time.
    pub(super) const fn times(name: &'static str) -> Self {
        Self::new(name, Quantity::Time, Shape::Distribution)
    }

    /// The messages with one outcome, in cells, and in phases that fulfil `needs`.
    pub(super) const fn messages(name: &'static str, needs: Needs, read: fn(&Outcomes) -> u64) -> Self {
        let mut entry = Self::new(name, Quantity::Number, Shape::Counted);
        entry.cell = Some(Reader::Messages(read));
        entry.phase = Some(Reader::Messages(read));
        entry.needs = needs;
        entry
    }

    /// A count of a phase.
    pub(super) const fn count(
        name: &'static str,
        needs: Needs,
        read: fn(&PhaseFigures) -> Option<f64>,
    ) -> Self {
        Self::new(name, Quantity::Number, Shape::Number).of_phase(needs, read)
    }

    /// Bytes of a phase.
    pub(super) const fn sum(
        name: &'static str,
        needs: Needs,
        read: fn(&PhaseFigures) -> Option<f64>,
    ) -> Self {
        Self::new(name, Quantity::Bytes, Shape::Sum).of_phase(needs, read)
    }

    /// The one value of a cell.
    pub(super) const fn value(
        name: &'static str,
        quantity: Quantity,
        read: fn(&Cell) -> Option<f64>,
    ) -> Self {
        let mut entry = Self::new(name, quantity, Shape::Value);
        entry.cell = Some(Reader::Value(read));
        entry
    }

    /// Bytes or packets of the sections of a cell, both ways together.
    pub(super) const fn bytes(
        name: &'static str,
        quantity: Quantity,
        sections: Sections,
        read: fn(&Cell, Aggregation) -> Option<f64>,
    ) -> Self {
        let mut entry = Self::new(name, quantity, Shape::PerMessage);
        entry.cell = Some(Reader::Each(read));
        entry.sections = sections;
        entry
    }

    /// A mean over the reports of a point.
    pub(super) const fn of_reports(
        name: &'static str,
        quantity: Quantity,
        read: fn(&Point) -> Option<f64>,
    ) -> Self {
        let mut entry = Self::new(name, quantity, Shape::Mean);
        entry.point = Some(Reader::Value(read));
        entry
    }

    /// A mean over the replications of a point, with its interval.
    pub(super) const fn of_replications(
        name: &'static str,
        quantity: Quantity,
        shape: Shape,
        read: fn(&Point) -> Option<Estimate>,
        each: fn(&RunFigures) -> Option<f64>,
    ) -> Self {
        let mut entry = Self::new(name, quantity, shape);
        entry.point = Some(Reader::Estimate(read));
        entry.replication = Some(each);
        entry
    }
}

/// What else an entry may have.
impl Entry {
    pub(super) const fn times_of_cell(mut self, read: for<'a> fn(&'a Cell) -> Option<&'a Times>) -> Self {
        self.cell = Some(Reader::Times(read));
        self
    }

    pub(super) const fn times_of_phase(
        mut self,
        needs: Needs,
        read: for<'a> fn(&'a PhaseFigures) -> Option<&'a Times>,
    ) -> Self {
        self.phase = Some(Reader::Times(read));
        self.needs = needs;
        self
    }

    pub(super) const fn of_cell(mut self, read: fn(&Cell) -> Option<f64>) -> Self {
        self.cell = Some(Reader::Value(read));
        self
    }

    pub(super) const fn of_phase(mut self, needs: Needs, read: fn(&PhaseFigures) -> Option<f64>) -> Self {
        self.phase = Some(Reader::Value(read));
        self.needs = needs;
        self
    }

    pub(super) const fn of_point(mut self, read: Reader<Point>) -> Self {
        self.point = Some(read);
        self
    }

    /// The figure of a cell is modelled from its packets.
    pub(super) const fn modelled(mut self, model: ModelledBy) -> Self {
        self.cell = Some(Reader::Modelled(model));
        self
    }

    /// Each sample has it.
    pub(super) const fn of_sample(mut self, read: fn(&SampleRow) -> Option<f64>) -> Self {
        self.sample = Some(Sampled { read, is_sum: false });
        self
    }

    /// Each sample has its sum over messages.
    pub(super) const fn of_messages_of_sample(mut self, read: fn(&SampleRow) -> Option<f64>) -> Self {
        self.sample = Some(Sampled { read, is_sum: true });
        self
    }

    /// Each way has its least and its largest.
    pub(super) const fn each_way(mut self) -> Self {
        self.shape = Shape::PerMessageEachWay;
        self
    }

    pub(super) const fn in_cells(mut self, needs: CellNeeds) -> Self {
        self.cell_needs = needs;
        self
    }

    pub(super) const fn about(mut self, subject: Subject) -> Self {
        self.subject = subject;
        self
    }

    pub(super) const fn known(mut self, known: Known) -> Self {
        self.known = known;
        self
    }

    pub(super) const fn constant_with(mut self, sections: Sections) -> Self {
        self.sections = sections;
        self
    }

    /// The figures of all phases add up to one.
    pub(super) const fn adding_up(mut self) -> Self {
        self.adds_up = true;
        self
    }

    /// Tables of cells have a column of it where a cell has the figure; less is better.
    pub(super) const fn in_tables(mut self, name: &'static str, unit: &'static str) -> Self {
        self.column = Some(TableColumn { name, unit });
        self
    }

    /// `summary.csv` has a column of it, in base units: of comparisons, loads and reports in NB-IoT cells, whichever have the figure.
    pub(super) const fn in_csv(mut self, name: &'static str) -> Self {
        self.csv = Some(name);
        self
    }

    /// Its value can only grow while its phase runs.
    pub(super) const fn growing(mut self) -> Self {
        self.grows = true;
        self
    }
}

impl Sampled {
    /// The figure of a message in this row, of a device that sent `messages`.
    pub(super) fn read(self, row: &SampleRow, messages: u64) -> Option<f64> {
        let divisor = if self.is_sum { messages } else { 1 };
        Some((self.read)(row)? / divisor as f64)
    }
}
