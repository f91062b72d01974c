//! Loss: one-way loss in the sense of RFC 7680, decided after the queue.

use wirecost_proto::{Direction, Probability, Rng};

use crate::dice::{Dice, Purpose};

/// A loss model.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Loss {
    /// No packet is lost.
    #[default]
    None,
    /// Each packet is lost with the same probability, independently of all others.
    Bernoulli(Probability),
    /// Losses come in bursts.
    GilbertElliott(GilbertElliott),
}

/// A two-state Markov chain of which each state has a loss probability (Gilbert 1960, Elliott 1963).
///
/// The chain starts in its stationary distribution, so that short runs have the same loss rate as long ones. It moves once
/// after every packet offered to the link, lost or not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GilbertElliott {
    /// Probability of going from the good to the bad state after a packet.
    pub good_to_bad: Probability,
    /// Probability of going from the bad to the good state after a packet.
    pub bad_to_good: Probability,
    /// Loss probability in the good state (0 in Gilbert's model).
    pub loss_in_good: Probability,
    /// Loss probability in the bad state (1 in the simple Gilbert model).
    pub loss_in_bad: Probability,
}

impl GilbertElliott {
    /// The simple Gilbert model (no loss in the good state, every packet lost in the bad one) with a loss rate and a mean
    /// burst length in packets. `None` if no such chain exists: a burst below 1 packet, a rate of 1, or a rate that needs
    /// longer bursts.
    pub fn bursts(rate: Probability, mean_burst_packets: f64) -> Option<Self> {
        // The bad state lasts 1/r packets on average and holds the share p/(p+r) of all packets.
        let bad_to_good = 1.0 / mean_burst_packets;
        let good_to_bad = bad_to_good * rate.value() / (1.0 - rate.value());
        Some(Self {
            good_to_bad: Probability::new(good_to_bad)?,
            bad_to_good: Probability::new(bad_to_good)?,
            loss_in_good: Probability::ZERO,
            loss_in_bad: Probability::new(1.0)?,
        })
    }

    /// The share of packets in the bad state: p / (p + r); 0 if the chain never moves.
    pub(crate) fn bad_share(&self) -> f64 {
        let moves = self.good_to_bad.value() + self.bad_to_good.value();
        if moves == 0.0 {
            return 0.0;
        }
        self.good_to_bad.value() / moves
    }

    /// The stationary loss rate: both states' loss probabilities, weighted by their shares.
    pub fn rate(&self) -> f64 {
        let bad = self.bad_share();
        (1.0 - bad) * self.loss_in_good.value() + bad * self.loss_in_bad.value()
    }

    /// The correlation between the losses of two packets `lag` packets apart (above 0):
    /// pi_G pi_B (k_B - k_G)^2 (1 - p - r)^lag / (mu (1 - mu)); 0 where loss is certain or impossible.
    pub fn autocorrelation(&self, lag: u32) -> f64 {
        let persistence = 1.0 - self.good_to_bad.value() - self.bad_to_good.value();
        self.state_variance_share() * libm::pow(persistence, f64::from(lag))
    }

    /// The share of the variance of a loss that comes from the state: the autocorrelation's limit at lag 0.
    fn state_variance_share(&self) -> f64 {
        let rate = self.rate();
        let variance = rate * (1.0 - rate);
        if variance == 0.0 {
            return 0.0;
        }
        let bad = self.bad_share();
        let step = self.loss_in_bad.value() - self.loss_in_good.value();
        bad * (1.0 - bad) * step * step / variance
    }

    /// The variance of the number of losses in a long run, divided by the binomial variance; at least 1.
    pub(crate) fn variance_inflation(&self) -> f64 {
        let moves = self.good_to_bad.value() + self.bad_to_good.value();
        let share = self.state_variance_share();
        if share == 0.0 || moves >= 1.0 {
            return 1.0;
        }
        // The sum of 2 rho(h) over all lags h is a geometric series.
        1.0 + 2.0 * share * (1.0 - moves) / moves
    }
}

impl Loss {
    /// The share of packets that are lost in the long run, in [0, 1].
    pub fn rate(&self) -> f64 {
        match self {
            Self::None => 0.0,
            Self::Bernoulli(probability) => probability.value(),
            Self::GilbertElliott(model) => model.rate(),
        }
    }
}

/// The loss stage of one direction.
#[derive(Clone, Debug)]
pub(crate) struct LossStage {
    model: Loss,
    state: State,
    dice: Dice,
    moves: Dice,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Good,
    Bad,
}

impl LossStage {
    pub(crate) fn new(model: Loss, rng: Rng, direction: Direction) -> Self {
        let moves = Dice::new(rng, direction, Purpose::LossState);
        Self {
            model,
            state: first_state(&model, &moves),
            dice: Dice::new(rng, direction, Purpose::Loss),
            moves,
        }
    }

    /// Whether packet `index` is lost. Call it for every packet in order, even for one dropped before: the state then depends
    /// only on the packet's number.
    pub(crate) fn is_lost(&mut self, index: u64) -> bool {
        match self.model {
            Loss::None => false,
            Loss::Bernoulli(probability) => self.dice.happens(index, probability),
            Loss::GilbertElliott(model) => self.is_lost_in_state(&model, index),
        }
    }

    fn is_lost_in_state(&mut self, model: &GilbertElliott, index: u64) -> bool {
        let (loss, leave, other) = match self.state {
            State::Good => (model.loss_in_good, model.good_to_bad, State::Bad),
            State::Bad => (model.loss_in_bad, model.bad_to_good, State::Good),
        };
        if self.moves.happens(index, leave) {
            self.state = other;
        }
        self.dice.happens(index, loss)
    }
}

/// The state at the first packet, drawn from the stationary distribution.
fn first_state(model: &Loss, moves: &Dice) -> State {
    let Loss::GilbertElliott(model) = model else {
        return State::Good;
    };
    // No packet has this number, so the draw collides with no move.
    if moves.packet(u64::MAX).next_f64() < model.bad_share() {
        State::Bad
    } else {
        State::Good
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probability(value: f64) -> Probability {
        Probability::new(value).unwrap()
    }

    #[test]
    fn bursts_have_the_rate_and_length_asked_for() {
        let model = GilbertElliott::bursts(probability(0.05), 4.0).unwrap();
        assert!((model.rate() - 0.05).abs() < 1e-12);
        assert!((model.bad_to_good.value() - 0.25).abs() < 1e-12);
    }

    #[test]
    fn impossible_bursts_are_refused() {
        assert_eq!(GilbertElliott::bursts(probability(0.05), 0.5), None);
        assert_eq!(GilbertElliott::bursts(probability(1.0), 2.0), None);
        // At 90 % loss the gaps would have to be shorter than one packet.
        assert_eq!(GilbertElliott::bursts(probability(0.9), 2.0), None);
        assert_eq!(GilbertElliott::bursts(probability(0.1), f64::NAN), None);
    }

    #[test]
    fn equal_states_are_bernoulli() {
        let model = GilbertElliott {
            good_to_bad: probability(0.1),
            bad_to_good: probability(0.2),
            loss_in_good: probability(0.3),
            loss_in_bad: probability(0.3),
        };
        assert!((model.rate() - 0.3).abs() < 1e-12);
        assert_eq!(model.autocorrelation(1), 0.0);
        assert_eq!(model.variance_inflation(), 1.0);
    }

    #[test]
    fn a_chain_that_never_moves_stays_good() {
        let model = GilbertElliott {
            good_to_bad: Probability::ZERO,
            bad_to_good: Probability::ZERO,
            loss_in_good: Probability::ZERO,
            loss_in_bad: probability(1.0),
        };
        let mut stage = LossStage::new(Loss::GilbertElliott(model), Rng::new(1), Direction::Up);
        assert!((0..1_000).all(|index| !stage.is_lost(index)));
        assert_eq!(model.variance_inflation(), 1.0);
    }
}
