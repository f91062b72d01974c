//! Time and energy by state, and energy by what it was for.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use wirecost_proto::{Cause, Layer, Phase};

use crate::device::{Device, Level, State};

/// Energy in joules, with the range that the spread of the device file's figures gives.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Energy {
    /// With every figure as the file has it.
    pub joules: f64,
    /// With every figure at the low end of its spread.
    pub low: f64,
    /// With every figure at the high end of its spread.
    pub high: f64,
}

impl Energy {
    /// The energy of a level in some nanoseconds.
    pub fn at_level(level: Level, nanos: u64) -> Self {
        let joules = level.watts * nanos as f64 / 1e9;
        Self {
            joules,
            low: joules * (1.0 - level.spread),
            high: joules * (1.0 + level.spread),
        }
    }

    /// The energy `times` times over.
    #[must_use]
    pub fn scaled(self, times: f64) -> Self {
        Self {
            joules: self.joules * times,
            low: self.low * times,
            high: self.high * times,
        }
    }
}

impl AddAssign for Energy {
    fn add_assign(&mut self, other: Self) {
        let Self { joules, low, high } = other;
        self.joules += joules;
        self.low += low;
        self.high += high;
    }
}

/// What energy was spent on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// Bytes of a layer on the air.
    Layer(Layer),
    /// What the link adds to a packet: preamble, header of the frame, waiting for the medium, acknowledgement of the link.
    Link,
    /// Waking up: random access, connection set-up.
    Wake,
    /// Listening after a packet, until a timer ends.
    Tail,
    /// The processor.
    Compute,
    /// Searching for a network that was lost, and attaching to it.
    Attach,
    /// Nothing: sleep, with its paging.
    Rest,
}

impl Part {
    /// Every part, in the order of tables.
    pub const ALL: [Self; 11] = [
        Self::Layer(Layer::Ip),
        Self::Layer(Layer::Transport),
        Self::Layer(Layer::Security),
        Self::Layer(Layer::Application),
        Self::Layer(Layer::Payload),
        Self::Link,
        Self::Wake,
        Self::Tail,
        Self::Compute,
        Self::Attach,
        Self::Rest,
    ];

    /// Its name in output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Layer(layer) => layer.name(),
            Self::Link => "link",
            Self::Wake => "wake",
            Self::Tail => "tail",
            Self::Compute => "compute",
            Self::Attach => "attach",
            Self::Rest => "rest",
        }
    }
}

/// What some energy was for. Rest and attaches belong to no phase; everything else belongs to that of the packet which caused it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Purpose {
    /// The part.
    pub part: Part,
    /// Phase and cause of the packet.
    pub packet: Option<(Phase, Cause)>,
}

/// Energy by what it was for. In a mean power, it is energy per second.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Purposes(BTreeMap<Purpose, Energy>);

impl Purposes {
    pub(crate) fn add(&mut self, purpose: Purpose, energy: Energy) {
        *self.0.entry(purpose).or_default() += energy;
    }

    pub(crate) fn scale(&mut self, times: f64) {
        for energy in self.0.values_mut() {
            *energy = energy.scaled(times);
        }
    }

    /// Adds the energy of every purpose of others, `times` times over.
    pub fn add_all(&mut self, others: &Self, times: f64) {
        for (purpose, energy) in others.iter() {
            self.add(*purpose, energy.scaled(times));
        }
    }

    /// Leaves the energy of one part out.
    pub fn remove(&mut self, part: Part) {
        self.0.retain(|purpose, _| purpose.part != part);
    }

    /// Every purpose with its energy.
    pub fn iter(&self) -> impl Iterator<Item = (&Purpose, &Energy)> {
        self.0.iter()
    }

    /// The energy of all purposes.
    pub fn total(&self) -> Energy {
        self.sum_of(|_| true)
    }

    /// The energy of the purposes that `wanted` selects.
    pub fn sum_of(&self, wanted: impl Fn(&Purpose) -> bool) -> Energy {
        let mut sum = Energy::default();
        let chosen = self.0.iter().filter(|(purpose, _)| wanted(purpose));
        chosen.for_each(|(_, energy)| sum += *energy);
        sum
    }

    /// The energy of one part.
    pub fn of_part(&self, part: Part) -> Energy {
        self.sum_of(|purpose| purpose.part == part)
    }

    /// The energy of one phase, with its tails and wake-ups.
    pub fn of_phase(&self, phase: Phase) -> Energy {
        self.sum_of(|purpose| purpose.packet.is_some_and(|(of, _)| of == phase))
    }

    /// The energy of one cause, with its tails and wake-ups.
    pub fn of_cause(&self, cause: Cause) -> Energy {
        self.sum_of(|purpose| purpose.packet.is_some_and(|(_, of)| of == cause))
    }
}

/// What a device spent. The states' times sum to the time observed, and the energy by purpose to the energy by state.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Account {
    nanos: [u64; State::ALL.len()],
    energy: [Energy; State::ALL.len()],
    purposes: Purposes,
}

impl Account {
    /// Adds some nanoseconds at a level of power.
    pub(crate) fn spend(&mut self, state: State, level: Level, nanos: u64, purpose: Purpose) {
        if nanos == 0 {
            return;
        }
        let energy = Energy::at_level(level, nanos);
        // A damaged capture may claim centuries.
        let sum = &mut self.nanos[state as usize];
        *sum = sum.saturating_add(nanos);
        self.energy[state as usize] += energy;
        self.purposes.add(purpose, energy);
    }

    /// Adds some seconds in a state of a device, for a model that knows the times of states and not packets.
    pub fn add_time(&mut self, device: &Device, state: State, seconds: f64, purpose: Purpose) {
        let nanos = (seconds * 1e9).round() as u64;
        self.spend(state, device.level(state), nanos, purpose);
    }

    /// Adds another account `times` times over: times to the nearest nanosecond.
    pub fn add_all(&mut self, other: &Self, times: f64) {
        for state in State::ALL.map(|state| state as usize) {
            let nanos = (other.nanos[state] as f64 * times).round() as u64;
            self.nanos[state] = self.nanos[state].saturating_add(nanos);
            self.energy[state] += other.energy[state].scaled(times);
        }
        self.purposes.add_all(&other.purposes, times);
    }

    /// The mean of several accounts: times to the nanosecond below.
    pub fn mean<'a>(accounts: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut sum = Self::default();
        let mut count = 0_u64;
        for account in accounts {
            count += 1;
            for state in State::ALL.map(|state| state as usize) {
                sum.nanos[state] = sum.nanos[state].saturating_add(account.nanos[state]);
                sum.energy[state] += account.energy[state];
            }
            for (purpose, energy) in account.purposes.iter() {
                sum.purposes.add(*purpose, *energy);
            }
        }
        // Without accounts the mean is an empty one, not a division by zero.
        let count = count.max(1);
        sum.nanos = sum.nanos.map(|nanos| nanos / count);
        sum.energy = sum.energy.map(|energy| energy.scaled(1.0 / count as f64));
        sum.purposes.scale(1.0 / count as f64);
        sum
    }

    /// Nanoseconds in a state.
    pub const fn nanos(&self, state: State) -> u64 {
        self.nanos[state as usize]
    }

    /// Energy in a state.
    pub const fn of_state(&self, state: State) -> Energy {
        self.energy[state as usize]
    }

    /// Nanoseconds of all states.
    pub fn total_nanos(&self) -> u64 {
        self.nanos.iter().fold(0, |sum, nanos| sum.saturating_add(*nanos))
    }

    /// Energy of all states.
    pub fn total(&self) -> Energy {
        let mut sum = Energy::default();
        self.energy.iter().for_each(|energy| sum += *energy);
        sum
    }

    /// Energy by purpose.
    pub const fn purposes(&self) -> &Purposes {
        &self.purposes
    }
}
