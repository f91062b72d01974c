//! What the catalogue says of a figure.

use wirecost_proto::Phase;

use super::Aggregation;
use super::entry::{Entry, Known, Sections, Shape};
use super::read::{Reader, is_constant};
use super::{CellNeeds, ENTRIES, Metric, ModelledBy, Needs, Of, Quantity, TableColumn};
use crate::load::PhaseFigures;
use crate::nbiot::{Estimate, Point, RunFigures};
use crate::samples::SampleRow;
use crate::standing::Subject;
use crate::summary::{Cell, Outcomes, Times};

impl Metric {
    fn entry(self) -> &'static Entry {
        &ENTRIES[self as usize]
    }

    /// The metrics of cells, of loads or of points.
    pub fn all(of: Of) -> Vec<Self> {
        let all = Self::ALL.iter().copied();
        all.filter(|metric| metric.is_of(of)).collect()
    }

    /// The metric of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|metric| metric.name() == name)
    }

    /// Its name in scenarios.
    pub fn name(self) -> &'static str {
        self.entry().name
    }

    /// What its mean and its quantiles are of; other aggregations may be of another one ([`Metric::quantity_of`]).
    pub fn quantity(self) -> Quantity {
        self.entry().quantity
    }

    /// The quantity of one of its figures.
    pub fn quantity_of(self, aggregation: Aggregation) -> Quantity {
        match aggregation {
            Aggregation::Rate => Quantity::Share,
            Aggregation::Count => Quantity::Number,
            _ => self.quantity(),
        }
    }

    /// Whether these have the metric.
    pub fn is_of(self, of: Of) -> bool {
        let entry = self.entry();
        match of {
            Of::Cells => entry.cell.is_some(),
            Of::Loads => entry.phase.is_some(),
            Of::Points => entry.point.is_some(),
        }
    }

    /// The figures of the metric.
    pub fn aggregations(self) -> &'static [Aggregation] {
        use Aggregation::{Count, Max, Mean, Min, P50, P90, P95, P99, P999, Rate, Sum, Value};
        match self.entry().shape {
            Shape::Distribution => &[P50, P90, P95, P99, P999, Mean, Min, Max],
            Shape::PerMessage => &[Mean, Sum],
            Shape::PerMessageEachWay => &[Mean, Min, Max, Sum],
            Shape::Counted => &[Count, Rate],
            Shape::Number => &[Count],
            Shape::Share => &[Rate],
            Shape::Sum => &[Sum],
            Shape::Value => &[Value, Max],
            Shape::TwoQuantiles => &[P50, P95],
            Shape::Mean => &[Mean],
            Shape::MeanAndMin => &[Mean, Min],
        }
    }

    /// An example of a threshold.
    pub fn example(self) -> &'static str {
        match (self.entry().shape, self.quantity()) {
            (Shape::Distribution, _) => "p(99)<150ms",
            (Shape::PerMessage | Shape::PerMessageEachWay, Quantity::Bytes) => "mean<150B",
            (Shape::PerMessage | Shape::PerMessageEachWay, _) => "mean<=4",
            (Shape::Counted, _) => "count==0 or rate>=99%",
            (Shape::Number, _) => "count==0",
            (Shape::Share, _) if self.is_of(Of::Points) => "rate>=95%",
            (Shape::Share, _) => "rate==100%",
            (Shape::Sum, _) => "sum<200MB",
            (Shape::Value, Quantity::Time) => "max<90s",
            (Shape::Value, Quantity::PerSecond) => "value>=4900/s",
            (Shape::Value, Quantity::Share) => "value<=50%",
            (Shape::Value, Quantity::BitRate) => "value>=1Mbit",
            (Shape::Value, Quantity::Bytes) => "value<=500kB",
            (Shape::Value, Quantity::Money) => "value<=0.12 USD",
            (Shape::Value, _) => "value<=2",
            (Shape::TwoQuantiles, _) => "p(95)<10s",
            (Shape::Mean, Quantity::Bytes) => "mean<150B",
            (Shape::Mean | Shape::MeanAndMin, Quantity::Energy) => "mean<300mJ",
            (Shape::Mean, Quantity::BitRate) => "mean>=1kbit",
            (Shape::Mean | Shape::MeanAndMin, _) => "mean<=8",
        }
    }
}

/// Where the figure is shown.
impl Metric {
    /// Its column in tables of cells.
    pub fn column(self) -> Option<TableColumn> {
        self.entry().column
    }

    /// Its columns in CSV files: the name, for each metric of these that has one.
    pub fn csv(of: Of) -> impl Iterator<Item = (Self, &'static str)> {
        let all = Self::ALL.iter().copied().filter(move |metric| metric.is_of(of));
        all.filter_map(|metric| Some((metric, metric.entry().csv?)))
    }

    /// The one figure that a column shows.
    pub fn shown(self) -> Aggregation {
        match self.entry().shape {
            Shape::Distribution | Shape::TwoQuantiles => Aggregation::P50,
            Shape::PerMessage | Shape::PerMessageEachWay | Shape::Mean | Shape::MeanAndMin => {
                Aggregation::Mean
            }
            Shape::Counted | Shape::Number => Aggregation::Count,
            Shape::Share => Aggregation::Rate,
            Shape::Sum => Aggregation::Sum,
            Shape::Value => Aggregation::Value,
        }
    }
}

/// The figures themselves.
impl Metric {
    /// The figure of a cell in base units; `None` if the cell does not have it, or if it is modelled.
    pub fn of_cell(self, cell: &Cell, aggregation: Aggregation) -> Option<f64> {
        let entry = self.entry();
        entry.cell.as_ref()?.read(cell, &cell.outcomes, aggregation)
    }

    /// The figure of a phase of a load in base units; `None` if the phase does not have it.
    pub fn of_phase(self, phase: &PhaseFigures, aggregation: Aggregation) -> Option<f64> {
        let entry = self.entry();
        entry.phase.as_ref()?.read(phase, &phase.outcomes, aggregation)
    }

    /// The figure of a point of NB-IoT cells in base units; `None` if the point does not have it.
    pub fn of_point(self, point: &Point, aggregation: Aggregation) -> Option<f64> {
        self.entry()
            .point
            .as_ref()?
            .read(point, &Outcomes::default(), aggregation)
    }

    /// The mean over replications with its interval, in a point; `None` for metrics without one.
    pub fn estimate_of_point(self, point: &Point) -> Option<Estimate> {
        self.entry().point.as_ref()?.estimate(point)
    }

    /// The figure of one replication of a point; `None` for metrics without one.
    pub fn of_replication(self, run: &RunFigures) -> Option<f64> {
        self.entry().replication?(run)
    }

    /// The distribution that the figures are of, in a cell; `None` for metrics without one.
    pub fn times_of_cell(self, cell: &Cell) -> Option<&Times> {
        self.entry().cell.as_ref()?.times(cell)
    }

    /// The distribution that the figures are of, in a phase; `None` for metrics without one.
    pub fn times_of_phase(self, phase: &PhaseFigures) -> Option<&Times> {
        self.entry().phase.as_ref()?.times(phase)
    }

    /// The measurement of one device that the figures are of, in base units, for each of its `messages` where figures are of messages;
    /// `None` if there is none.
    pub fn of_sample(self, sample: &SampleRow, messages: u64) -> Option<f64> {
        self.entry().sample?.read(sample, messages)
    }
}

/// How the figures are judged.
impl Metric {
    /// What a phase of a load must do to have it; `None` where loads do not have it.
    pub fn needs(self) -> Option<Needs> {
        self.is_of(Of::Loads).then_some(self.entry().needs)
    }

    /// What a cell must do to have it.
    pub fn cell_needs(self) -> CellNeeds {
        self.entry().cell_needs
    }

    /// What the figure of a cell is modelled by; `None` where it was measured.
    pub fn model(self) -> Option<ModelledBy> {
        match self.entry().cell {
            Some(Reader::Modelled(model)) => Some(model),
            _ => None,
        }
    }

    /// Whether the figure is one of links, so that a load with sites has it for each hop.
    pub fn is_by_hop(self) -> bool {
        self.needs() == Some(Needs::Hops)
    }

    /// What the figures are about.
    pub fn subject(self) -> Subject {
        self.entry().subject
    }

    /// Whether the figure counts bytes or packets, so that each one is of note.
    pub fn is_counted(self) -> bool {
        let is_per_message = matches!(self.entry().shape, Shape::PerMessage | Shape::PerMessageEachWay);
        self.quantity() == Quantity::Bytes || is_per_message
    }

    /// The phases of a cell whose bytes and packets the figure is of; none where it is of none.
    pub fn phases(self) -> &'static [Phase] {
        match self.entry().sections {
            Sections::None => &[],
            Sections::Message => &[Phase::Message],
            Sections::Connect => &[Phase::Connect],
            Sections::All => &Phase::ALL,
        }
    }

    /// Whether every sample of a cell has the figure: one of bytes or packets, of a message, of a connect or of all together.
    pub fn is_constant(self, cell: &Cell) -> bool {
        let all = [&cell.connect, &cell.message, &cell.keep_alive, &cell.close];
        match self.entry().sections {
            Sections::None => false,
            Sections::Message => cell.message.as_ref().is_some_and(is_constant),
            Sections::Connect => cell.connect.as_ref().is_some_and(is_constant),
            Sections::All => all.into_iter().flatten().all(is_constant),
        }
    }

    /// Whether the figure is known while its phase runs. Deliveries of unanswered messages and validity are known after
    /// the phase only.
    pub fn is_known_early(self, is_answered: bool) -> bool {
        match self.entry().known {
            Known::Early => true,
            Known::EarlyIfAnswered => is_answered,
            Known::Late => false,
        }
    }

    /// Whether the figures of all phases add up to one.
    pub fn adds_up(self) -> bool {
        self.entry().adds_up
    }

    /// Whether the figure can only grow while its phase runs.
    pub fn grows(self, aggregation: Aggregation) -> bool {
        use Aggregation::{Count, Max, Sum};
        self.entry().grows || matches!(aggregation, Count | Sum | Max)
    }
}
