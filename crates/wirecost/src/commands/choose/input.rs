//! The inputs of a question that can be changed by a part of themselves, and the question with one of them changed.

use std::time::Duration;

use wirecost_cost::Tariff;
use wirecost_cost::tariff::Price;
use wirecost_energy::{Device, Level, State};
use wirecost_link::{GilbertElliott, Loss};
use wirecost_proto::{BitRate, ByteSize, Probability, shown};
use wirecost_scenario::options::compare::LinkConfig;
use wirecost_scenario::options::content::Contents;

use super::Inputs;
use crate::arguments::{By, ChooseArguments};
use crate::commands::cost::table::{number, time};

/// An input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Input {
    /// Bytes of a reading.
    Size,
    /// Time from one reading to the next.
    Every,
    /// The delays of the link, both ways.
    RoundTrip,
    /// The rates of the link, both ways.
    Rate,
    /// The loss of the link, both ways.
    Loss,
    /// A power of the device.
    Power(Draw),
    /// The device, where none of its powers has a part in the order.
    Device,
    /// The capacity of the battery.
    Battery,
    /// The price of a rule of the tariff, by its number.
    Price(usize),
    /// The tariff, where it has no part in the order.
    Tariff,
}

/// What a device draws power for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Draw {
    /// It sends.
    Transmit,
    /// It receives.
    Receive,
    /// It is still connected after its last packet.
    Tails,
    /// It wakes up.
    Wake,
    /// It rests.
    Rest,
}

const DRAWS: [Draw; 5] = [Draw::Transmit, Draw::Receive, Draw::Tails, Draw::Wake, Draw::Rest];

/// An input at another value.
#[derive(Clone, Debug)]
pub(super) struct Change {
    input: Input,
    /// The value as a text.
    pub(super) value: String,
    /// How much it is changed, in per cent.
    pub(super) percent: f64,
    /// By what everything that is no count is multiplied.
    factor: f64,
    size: ByteSize,
    every: Duration,
}

impl Input {
    /// The inputs of a question.
    pub(super) fn all(inputs: &Inputs<'_>) -> Vec<Self> {
        let arguments = inputs.arguments;
        let link = &inputs.link;
        let mut all = Vec::new();
        // What readings weigh follows from their encoding.
        if matches!(arguments.contents(), Contents::Sizes(_)) {
            all.push(Self::Size);
        }
        all.push(Self::Every);
        let rates = [link.up.rate, link.down.rate];
        let of_link = [
            (Self::RoundTrip, !link.rtt().is_zero()),
            (Self::Rate, rates.iter().any(Option::is_some)),
            (Self::Loss, inputs.loses()),
        ];
        all.extend(
            of_link
                .into_iter()
                .filter(|(_, has)| *has)
                .map(|(input, _)| input),
        );
        if inputs.device.is_some() {
            let has_part = arguments.by == By::Energy || arguments.battery_years.is_some();
            match has_part {
                true => all.extend(DRAWS.map(Self::Power)),
                false => all.push(Self::Device),
            }
        }
        all.extend(inputs.battery.map(|_| Self::Battery));
        if let Some(tariff) = &inputs.tariff {
            match arguments.by {
                By::Money => all.extend((0..tariff.rules.len()).map(Self::Price)),
                By::Bytes | By::Energy | By::Time => all.push(Self::Tariff),
            }
        }
        all
    }

    /// Whether the order of rows depends on it at all.
    pub(super) fn has_part(self, inputs: &Inputs<'_>) -> bool {
        match self {
            Self::Size | Self::Every | Self::RoundTrip | Self::Rate | Self::Loss => true,
            Self::Power(_) | Self::Price(_) => true,
            Self::Device | Self::Tariff => false,
            Self::Battery => inputs.arguments.battery_years.is_some(),
        }
    }

    /// What it is called.
    pub(super) fn name(self, inputs: &Inputs<'_>) -> String {
        let of_device = |what: &str| {
            let device = inputs.device.as_ref().map_or("", |device| device.name.as_str());
            format!("{what} of {device}")
        };
        match self {
            Self::Size => "size".to_owned(),
            Self::Every => "interval".to_owned(),
            Self::RoundTrip => "round trip of the link, without queueing".to_owned(),
            Self::Rate => "rate of the link, up and down".to_owned(),
            Self::Loss => "loss of the link, up and down".to_owned(),
            Self::Power(draw) => of_device(draw.name()),
            Self::Device => of_device("power"),
            Self::Battery => "capacity of the battery".to_owned(),
            Self::Price(rule) => {
                let rules = inputs.tariff.as_ref().map_or(&[][..], |tariff| &tariff.rules);
                let rule = rules.get(rule).map_or("", |rule| rule.name.as_str());
                format!("price of {rule}")
            }
            Self::Tariff => {
                let tariff = inputs.tariff.as_ref().map_or("", |tariff| tariff.name.as_str());
                format!("prices of {tariff}")
            }
        }
    }

    /// Its value changed by this many per cent; `None` where a whole number leaves none within them.
    pub(super) fn changed(self, inputs: &Inputs<'_>, percent: i32) -> Option<Change> {
        let factor = 1.0 + f64::from(percent) / 100.0;
        let (size, every) = (inputs.arguments.size, inputs.arguments.every.unwrap_or_default());
        let mut change = Change {
            input: self,
            value: String::new(),
            percent: percent.into(),
            factor,
            size,
            every,
        };
        match self {
            Self::Size => {
                let bytes = size.bytes() as f64 * factor;
                // Towards the value that was asked for, so that the change is within the per cent.
                let bytes = if percent < 0 { bytes.ceil() } else { bytes.floor() };
                change.size = ByteSize::from_bytes(bytes as u64);
                change.percent = (bytes / size.bytes() as f64 - 1.0) * 100.0;
                if percent != 0 && change.size == size {
                    return None;
                }
            }
            Self::Every => change.every = every.mul_f64(factor),
            Self::RoundTrip
            | Self::Rate
            | Self::Loss
            | Self::Power(_)
            | Self::Device
            | Self::Battery
            | Self::Price(_)
            | Self::Tariff => {}
        }
        change.value = change.text(inputs);
        Some(change)
    }
}

impl Draw {
    const fn name(self) -> &'static str {
        match self {
            Self::Transmit => "power of sending",
            Self::Receive => "power of receiving",
            Self::Tails => "power after the last packet",
            Self::Wake => "power of the wake-up",
            Self::Rest => "power at rest",
        }
    }

    fn scale(self, device: &mut Device, factor: f64) {
        let scale = |level: &mut Level| level.watts *= factor;
        match self {
            Self::Transmit => scale(&mut device.levels[State::Transmit as usize]),
            Self::Receive => scale(&mut device.levels[State::Receive as usize]),
            Self::Tails => device.tails.iter_mut().for_each(|tail| scale(&mut tail.level)),
            Self::Wake => device.wake.iter_mut().for_each(|wake| scale(&mut wake.level)),
            Self::Rest => scale(&mut device.levels[device.rest as usize]),
        }
    }

    /// Its power in watts; `None` where the device has none, or several.
    fn watts(self, device: &Device) -> Option<f64> {
        match self {
            Self::Transmit => Some(device.level(State::Transmit).watts),
            Self::Receive => Some(device.level(State::Receive).watts),
            Self::Tails => match device.tails.as_slice() {
                [tail] => Some(tail.level.watts),
                _ => None,
            },
            Self::Wake => device.wake.map(|wake| wake.level.watts),
            Self::Rest => Some(device.level(device.rest).watts),
        }
    }
}

impl Change {
    /// A question with another interval.
    pub(super) fn to_interval(inputs: &Inputs<'_>, every: Duration) -> Self {
        Self {
            input: Input::Every,
            value: time(every),
            percent: 0.0,
            factor: 1.0,
            size: inputs.arguments.size,
            every,
        }
    }

    /// Whether the packets are others, so that they must be simulated.
    pub(super) const fn has_other_packets(&self) -> bool {
        match self.input {
            Input::Size | Input::Every | Input::RoundTrip | Input::Rate | Input::Loss => true,
            Input::Power(_) | Input::Device | Input::Battery | Input::Price(_) | Input::Tariff => false,
        }
    }

    /// The interval of a question with another one.
    pub(super) fn interval(&self) -> Option<Duration> {
        (self.input == Input::Every).then_some(self.every)
    }

    /// The arguments of the changed question.
    pub(super) fn arguments(&self, arguments: &ChooseArguments) -> ChooseArguments {
        ChooseArguments {
            size: self.size,
            every: Some(self.every),
            ..arguments.clone()
        }
    }

    /// The changed question, whose arguments are these.
    pub(super) fn inputs<'b>(&self, inputs: &Inputs<'_>, arguments: &'b ChooseArguments) -> Inputs<'b> {
        let mut changed = Inputs {
            arguments,
            handshake: inputs.handshake,
            link: self.link(inputs.link),
            device: inputs.device.clone(),
            battery: inputs.battery,
            beside: inputs.beside,
            tariff: inputs.tariff.clone(),
        };
        match self.input {
            Input::Power(draw) => changed
                .device
                .iter_mut()
                .for_each(|device| draw.scale(device, self.factor)),
            Input::Battery => changed
                .battery
                .iter_mut()
                .for_each(|battery| battery.joules *= self.factor),
            Input::Price(rule) => changed
                .tariff
                .iter_mut()
                .for_each(|tariff| priced(tariff, rule, self.factor)),
            Input::Size
            | Input::Every
            | Input::RoundTrip
            | Input::Rate
            | Input::Loss
            | Input::Device
            | Input::Tariff => {}
        }
        changed
    }

    fn link(&self, mut link: LinkConfig) -> LinkConfig {
        for way in [&mut link.up, &mut link.down] {
            match self.input {
                Input::RoundTrip => way.delay = way.delay.mul_f64(self.factor),
                Input::Rate => {
                    let bits = way.rate.map(|rate| rate.bits_per_second() as f64 * self.factor);
                    way.rate = bits.and_then(|bits| BitRate::from_bits_per_second(bits.round() as u64));
                }
                Input::Loss => way.loss = lossy(way.loss, self.factor),
                Input::Size
                | Input::Every
                | Input::Power(_)
                | Input::Device
                | Input::Battery
                | Input::Price(_)
                | Input::Tariff => {}
            }
        }
        link
    }

    fn text(&self, inputs: &Inputs<'_>) -> String {
        let link = self.link(inputs.link);
        let both = |up: String, down: String| match up == down {
            true => up,
            false => format!("{up} and {down}"),
        };
        match self.input {
            Input::Size => super::sentence::spaced(&self.size.to_string()),
            Input::Every => time(self.every),
            Input::RoundTrip => time(link.rtt()),
            Input::Rate => {
                let rate = |rate: Option<BitRate>| rate.map_or_else(|| "unlimited".to_owned(), shown::rate);
                both(rate(link.up.rate), rate(link.down.rate))
            }
            Input::Loss => {
                let loss = |loss: Loss| format!("{} %", number(loss.rate() * 100.0));
                both(loss(link.up.loss), loss(link.down.loss))
            }
            Input::Power(draw) => {
                let watts = inputs.device.as_ref().and_then(|device| draw.watts(device));
                watts.map_or_else(String::new, |watts| {
                    format!("{} mW", number(watts * self.factor * 1e3))
                })
            }
            Input::Battery => {
                let battery = inputs.battery;
                let hours = battery.map(|battery| battery.joules / battery.volts / 3.6 * self.factor);
                hours.map_or_else(String::new, |hours| format!("{} mAh", number(hours)))
            }
            Input::Device | Input::Price(_) | Input::Tariff => String::new(),
        }
    }
}

/// The loss with `factor` times its rate.
fn lossy(loss: Loss, factor: f64) -> Loss {
    let scaled = |probability: Probability| {
        Probability::new((probability.value() * factor).min(1.0)).unwrap_or(probability)
    };
    match loss {
        Loss::None => Loss::None,
        Loss::Bernoulli(probability) => Loss::Bernoulli(scaled(probability)),
        // Bursts come more often, and are as long as before.
        Loss::GilbertElliott(model) => Loss::GilbertElliott(GilbertElliott {
            good_to_bad: scaled(model.good_to_bad),
            ..model
        }),
    }
}

fn priced(tariff: &mut Tariff, rule: usize, factor: f64) {
    let Some(rule) = tariff.rules.get_mut(rule) else {
        return;
    };
    match &mut rule.price {
        Price::Tiers { tiers, .. } => tiers.iter_mut().for_each(|tier| tier.price *= factor),
        Price::Daily { price, .. } | Price::Bundle { price, .. } => *price *= factor,
    }
}
