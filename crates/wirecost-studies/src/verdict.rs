//! What a claim comes to.

use serde::{Deserialize, Serialize};

wirecost_proto::named! {
    /// The verdict on a claim, or on one of its points. The gravest is first.
    ///
    /// Named as in tables.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Verdict {
        /// The published number is below the physical bound.
        Impossible => "impossible",
        /// The measurement shows the other direction.
        Contradicted => "contradicted",
        /// The measurement shows the same direction and another size.
        Differs => "differs",
        /// The publication measured it, and a model of ours, which may lack what it measured, comes to something else.
        ModelledOtherwise => "modelled otherwise",
        /// There is no difference of note, or there are too few samples to tell, where the claim says that two differ.
        NotSeparable => "not separable",
        /// The publication leaves out what the comparison needs.
        Undecidable => "undecidable",
        /// A figure is missing.
        NotRun => "not run",
        /// The measurement agrees with the claim.
        Reproduced => "reproduced",
    }
}

impl Verdict {
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
}
