//! What a claim comes to.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The verdict on a claim, or on one of its points. The gravest is first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The published number is below the physical bound.
    Impossible,
    /// The measurement shows the other direction.
    Contradicted,
    /// The measurement shows the same direction and another size.
    Differs,
    /// The publication measured it, and a model of ours, which may lack what it measured, comes to something else.
    ModelledOtherwise,
    /// There is no difference of note, or there are too few samples to tell, where the claim says that two differ.
    NotSeparable,
    /// The publication leaves out what the comparison needs.
    Undecidable,
    /// A figure is missing.
    NotRun,
    /// The measurement agrees with the claim.
    Reproduced,
}

impl Verdict {
    /// Every verdict, the gravest first.
    pub const ALL: [Self; 8] = [
        Self::Impossible,
        Self::Contradicted,
        Self::Differs,
        Self::ModelledOtherwise,
        Self::NotSeparable,
        Self::Undecidable,
        Self::NotRun,
        Self::Reproduced,
    ];

    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Impossible => "impossible",
            Self::Contradicted => "contradicted",
            Self::Differs => "differs",
            Self::ModelledOtherwise => "modelled otherwise",
            Self::NotSeparable => "not separable",
            Self::Undecidable => "undecidable",
            Self::NotRun => "not run",
            Self::Reproduced => "reproduced",
        }
    }

    /// Whether it says how the published number stands, and not only what lacks to say so.
    pub const fn is_decided(self) -> bool {
        match self {
            Self::Impossible
            | Self::Contradicted
            | Self::Differs
            | Self::ModelledOtherwise
            | Self::NotSeparable
            | Self::Reproduced => true,
            Self::Undecidable | Self::NotRun => false,
        }
    }

    /// The verdict of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verdict| verdict.name() == name)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
