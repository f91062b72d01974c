//! A figure with its interval, and what two figures say of each other.
//!
//! Two intervals that overlap do not show that two figures are alike, and a sample that is too small shows nothing. So a
//! comparison has three answers: one figure is less, there is no difference of note, or the samples are too few to tell. "No
//! difference" is an answer only where one above [`MARGIN`] would have been seen, as in a test of equivalence (Schuirmann 1987, A
//! comparison of the two one-sided tests procedure, J. Pharmacokinet. Biopharm. 15, 657-680).

/// The part of the smaller figure up to which a difference is not of note.
pub const MARGIN: f64 = 0.05;

/// Of figures that do not differ by more than the margin.
pub const NO_DIFFERENCE: &str = "no difference of note";
/// Of figures of which the samples do not tell whether they differ.
pub const TOO_FEW_SAMPLES: &str = "too few samples to tell";

/// A figure with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The figure, in any unit.
    pub value: f64,
    /// Both ends, in the same unit; equal for a figure that every sample has; `None` with too few samples. An end is infinite where
    /// only the other one is known.
    pub interval: Option<[f64; 2]>,
}

/// What a figure is against another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// It is less.
    Less,
    /// It is more.
    More,
    /// Both are exact and equal.
    Equal,
    /// The difference is below [`MARGIN`], as far as the intervals tell.
    Alike,
    /// The samples are too few to tell.
    TooFew,
}

impl Judgement {
    /// The judgement in words, as every output has it.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Less => "less",
            Self::More => "more",
            Self::Equal => "equal",
            Self::Alike => NO_DIFFERENCE,
            Self::TooFew => TOO_FEW_SAMPLES,
        }
    }
}

impl Estimate {
    /// A figure that every sample has.
    #[must_use]
    pub const fn exact(value: f64) -> Self {
        Self {
            value,
            interval: Some([value; 2]),
        }
    }

    /// A figure whose interval is unknown.
    #[must_use]
    pub const fn unknown(value: f64) -> Self {
        Self {
            value,
            interval: None,
        }
    }

    /// A figure of too few samples that is not below `least`.
    #[must_use]
    pub const fn at_least(value: f64, least: f64) -> Self {
        Self {
            value,
            interval: Some([least, f64::INFINITY]),
        }
    }

    /// The interval, where both of its ends are known.
    #[must_use]
    pub fn known_interval(&self) -> Option<[f64; 2]> {
        self.interval
            .filter(|ends| ends.iter().all(|end| end.is_finite()))
    }

    /// Whether every sample has the figure.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.interval.is_some_and(|[low, high]| low == high)
    }

    /// The figure in another unit, or another sign.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Self {
        let turned = |[low, high]: [f64; 2]| if factor < 0.0 { [high, low] } else { [low, high] };
        Self {
            value: self.value * factor,
            interval: self.interval.map(|ends| turned(ends.map(|end| end * factor))),
        }
    }

    /// The figure with both ends of its interval `factor` times as far away.
    #[must_use]
    pub fn widened(&self, factor: f64) -> Self {
        let end = |end: f64| self.value + (end - self.value) * factor;
        Self {
            value: self.value,
            interval: self.interval.map(|ends| ends.map(end)),
        }
    }

    /// The sum of two independent figures. The distances of its ends are the roots of the sums of the squares (Zou and Donner 2008,
    /// Construction of confidence limits about effect measures, Statist. Med. 27, 1693-1702), which for normal figures is exact.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        let value = self.value + other.value;
        let interval = self.interval.zip(other.interval).map(|(own, others)| {
            let below = (self.value - own[0]).hypot(other.value - others[0]);
            let above = (own[1] - self.value).hypot(others[1] - other.value);
            [value - below, value + above]
        });
        Self { value, interval }
    }

    /// What this figure is against `other`. Exact figures are judged by equality. Of others, a difference is of note where its
    /// interval does not lie within the margin.
    #[must_use]
    pub fn against(&self, other: &Self) -> Judgement {
        let margin = if self.is_exact() && other.is_exact() {
            0.0
        } else {
            MARGIN * self.value.abs().min(other.value.abs())
        };
        self.plus(&other.scaled(-1.0)).as_difference(margin)
    }

    /// What this figure says, being a difference: of two figures that were measured in pairs, or that move together. One within
    /// `margin` is not of note.
    #[must_use]
    pub fn as_difference(&self, margin: f64) -> Judgement {
        let Some([low, high]) = self.interval else {
            return Judgement::TooFew;
        };
        match () {
            () if low == 0.0 && high == 0.0 => Judgement::Equal,
            () if -margin <= low && high <= margin => Judgement::Alike,
            () if high < 0.0 => Judgement::Less,
            () if low > 0.0 => Judgement::More,
            () => Judgement::TooFew,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const fn make_estimate(value: f64, low: f64, high: f64) -> Estimate {
        Estimate {
            value,
            interval: Some([low, high]),
        }
    }

    #[test]
    fn exact_figures_are_judged_by_equality() {
        assert_eq!(
            Estimate::exact(166.0).against(&Estimate::exact(167.0)),
            Judgement::Less
        );
        assert_eq!(
            Estimate::exact(167.0).against(&Estimate::exact(166.0)),
            Judgement::More
        );
        assert_eq!(
            Estimate::exact(166.0).against(&Estimate::exact(166.0)),
            Judgement::Equal
        );
    }

    #[test]
    fn a_difference_is_of_note_where_its_interval_leaves_the_margin_on_one_side() {
        let about_100 = make_estimate(100.0, 99.0, 101.0);
        assert_eq!(
            about_100.against(&make_estimate(120.0, 118.0, 122.0)),
            Judgement::Less
        );
        assert_eq!(
            make_estimate(120.0, 118.0, 122.0).against(&about_100),
            Judgement::More
        );
        // The intervals do not overlap, but nobody would choose by one part in fifty.
        assert_eq!(
            about_100.against(&make_estimate(102.5, 102.0, 103.0)),
            Judgement::Alike
        );
    }

    #[test]
    fn an_interval_that_could_hide_a_difference_says_nothing() {
        let wide = make_estimate(285.0, 160.0, 410.0);
        assert_eq!(Estimate::exact(166.0).against(&wide), Judgement::TooFew);
        assert_eq!(
            Estimate::exact(166.0).against(&Estimate::unknown(285.0)),
            Judgement::TooFew
        );
        assert_eq!(
            make_estimate(100.0, 90.0, 110.0).against(&make_estimate(101.0, 91.0, 111.0)),
            Judgement::TooFew
        );
    }

    #[test]
    fn a_figure_that_cannot_be_less_is_more_without_an_upper_end() {
        let connect = Estimate::at_least(2_160.0, 2_147.0);
        assert_eq!(Estimate::exact(0.0).against(&connect), Judgement::Less);
        assert_eq!(Estimate::exact(2_150.0).against(&connect), Judgement::TooFew);
        assert_eq!(connect.against(&connect), Judgement::TooFew);
        assert_eq!(connect.known_interval(), None);
    }

    proptest! {
        #[test]
        fn the_order_of_two_figures_does_not_change_what_they_say(
            one in (1.0..1e6f64, 0.0..1e3f64, 0.0..1e3f64),
            other in (1.0..1e6f64, 0.0..1e3f64, 0.0..1e3f64),
        ) {
            let [one, other] = [one, other].map(|(value, below, above)| make_estimate(value, value - below, value + above));
            let turned = match other.against(&one) {
                Judgement::Less => Judgement::More,
                Judgement::More => Judgement::Less,
                same @ (Judgement::Equal | Judgement::Alike | Judgement::TooFew) => same,
            };
            prop_assert_eq!(one.against(&other), turned);
        }

        #[test]
        fn more_samples_never_turn_an_answer_round(value in 1.0..1e3f64, other in 1.0..1e3f64, half in 0.0..1e3f64) {
            let at = |part: f64| {
                make_estimate(value, value - half * part, value + half * part)
                    .against(&make_estimate(other, other - half * part, other + half * part))
            };
            let (few, many) = (at(1.0), at(0.5));
            prop_assert!(few == Judgement::TooFew || few == many || many == Judgement::Alike, "{:?} {:?}", few, many);
        }
    }
}
