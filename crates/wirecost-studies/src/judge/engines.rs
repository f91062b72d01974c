//! The verdict by the figures of each engine alone: both must come to the same, or the row says why not.

use serde::{Deserialize, Serialize};
use wirecost_results::catalogue::Quantity;

use super::Court;
use crate::claims::{Point, Question};
use crate::reference::Reference;
use crate::verdict::Verdict;

/// What the figures of one engine come to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ByEngine {
    /// `live` or `sim`.
    pub engine: String,
    /// The verdict by the rule of the claim alone, without bound and without what the publication leaves out.
    pub verdict: Verdict,
    /// Our result.
    pub ours: String,
    /// Why, in one sentence.
    pub why: String,
    /// Whether a figure of it is a time.
    #[serde(skip)]
    pub has_time: bool,
}

impl Court<'_> {
    /// The verdicts of both engines; none if only one has the figures, or the claim names an engine itself.
    pub(super) fn by_engines(&self, point: &Point, question: &Question) -> Vec<ByEngine> {
        let of = ["live", "sim"].map(|engine| self.by_engine(point, question, engine));
        match of {
            [Some(live), Some(sim)] => vec![live, sim],
            _ => Vec::new(),
        }
    }

    fn by_engine(&self, point: &Point, question: &Question, engine: &'static str) -> Option<ByEngine> {
        let asked = self.asked(question).ok()?;
        let references = asked.references();
        // A claim that names an engine has been asked of that one alone.
        if references.is_empty() || references.iter().any(|reference| reference.engine.is_some()) {
            return None;
        }
        let has_time = references
            .iter()
            .any(|reference| reference.metric.quantity() == Quantity::Time);
        let by = &mut |reference: &Reference| -> Result<Reference, std::convert::Infallible> {
            Ok(reference.by(engine))
        };
        let Ok(question) = asked.mapped(by);
        // An engine without these cells is no fault of the claim.
        let outcome = self.by_rule(point, &question).ok()?.ok()?;
        Some(ByEngine {
            engine: engine.to_owned(),
            verdict: outcome.verdict,
            ours: outcome.ours,
            why: outcome.why,
            has_time,
        })
    }
}

/// Why the engines differ, in one sentence; `None` if they do not.
pub(super) fn difference(engines: &[ByEngine]) -> Option<String> {
    let [live, sim] = engines else {
        return None;
    };
    if live.verdict == sim.verdict {
        return None;
    }
    let cause = match live.has_time {
        true => "virtual time has no time of processing and no scheduling",
        false => "the kernel sent other packets than the simulation",
    };
    Some(format!(
        "live: {} ({}); in virtual time: {} ({}), because {cause}",
        live.verdict, live.ours, sim.verdict, sim.ours
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_that_differ_say_why() {
        let by = |engine: &str, verdict, ours: &str| ByEngine {
            engine: engine.to_owned(),
            verdict,
            ours: ours.to_owned(),
            why: String::new(),
            has_time: true,
        };
        let live = by("live", Verdict::Differs, "4 ms");
        let same = [live.clone(), by("sim", Verdict::Differs, "3 ms")];
        assert_eq!(difference(&same), None);
        assert_eq!(difference(&same[..1]), None);
        let other = [live, by("sim", Verdict::Reproduced, "3 ms")];
        assert_eq!(
            difference(&other).as_deref(),
            Some(
                "live: differs (4 ms); in virtual time: reproduced (3 ms), because virtual time has no time of processing and no scheduling"
            )
        );
    }
}
