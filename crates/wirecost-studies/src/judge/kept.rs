//! Verdicts that were written to a file, for a page without the results of their runs.

use serde::Deserialize;

use super::{Judged, JudgedPoint};
use crate::amount::{Amount, Dimension};
use crate::claims::{Claim, Claims};

/// Verdicts as a file has them: amounts are plain numbers with a unit beside them, until [`Claims::kept`] gives them dimensions.
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
pub struct KeptVerdicts(Vec<Judged>);

/// Why verdicts of a file are not those of the claims.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeptError {
    /// The file has no verdict of a claim.
    #[error("it has no verdict of {0}")]
    Absent(String),
    /// The claim has other points or numbers now.
    #[error("it judges other numbers than {0} has now")]
    Other(String),
    /// The claim has another formula, tolerance or bound now, or the file does not say which one it had.
    #[error("it has no verdict of {0} by the formula, tolerance and bound that the claim has now")]
    Rule(String),
    /// An amount has a unit that no verdict is written in.
    #[error("{unit:?} in {claim} is not the unit of a verdict")]
    Unit {
        /// The claim.
        claim: String,
        /// The unit.
        unit: String,
    },
}

impl Claims {
    /// The verdicts of these claims among those that a file has, in the order of the claims. What else the file has is left.
    ///
    /// # Errors
    /// The file has no verdict of a claim, or one of other numbers or by another rule: the claims were changed since.
    pub fn kept(&self, file: &KeptVerdicts) -> Result<Vec<Judged>, KeptError> {
        let of_claim = |claim: &Claim| {
            let found = file.0.iter().find(|judged| judged.id == claim.id);
            let judged = found.ok_or_else(|| KeptError::Absent(claim.id.clone()))?;
            claim.kept(judged.clone())
        };
        self.claims.iter().map(of_claim).collect()
    }
}

impl Claim {
    /// A verdict of a file with the dimensions of its amounts, which the file has as units beside plain numbers.
    fn kept(&self, mut judged: Judged) -> Result<Judged, KeptError> {
        let published = self
            .points
            .iter()
            .map(|point| point.published.as_ref().map(ToString::to_string));
        if !judged
            .points
            .iter()
            .map(|point| point.published.clone())
            .eq(published)
        {
            return Err(KeptError::Other(self.id.clone()));
        }
        if judged.rule != self.rule {
            return Err(KeptError::Rule(self.id.clone()));
        }
        judged.dimension = self.dimension();
        // What has to come out is no part of the rule: it is held against the verdict.
        judged.expect = self.expect;
        for point in &mut judged.points {
            point.give_dimensions().map_err(|unit| KeptError::Unit {
                claim: self.id.clone(),
                unit,
            })?;
        }
        Ok(judged)
    }
}

impl JudgedPoint {
    /// Gives plain numbers the dimension of the unit beside them. Fails with a unit that is none.
    fn give_dimensions(&mut self) -> Result<(), String> {
        let Self {
            unit,
            published_value,
            bound_value,
            ours_value,
            ours_interval,
            figures,
            ..
        } = self;
        let single = [published_value, bound_value, ours_value].into_iter().flatten();
        give(unit, single.chain(ours_interval.iter_mut().flatten()))?;
        for figure in figures {
            let interval = figure.interval.iter_mut().flatten();
            give(&figure.unit, [&mut figure.value].into_iter().chain(interval))?;
        }
        Ok(())
    }
}

fn give<'a>(unit: &str, amounts: impl Iterator<Item = &'a mut Amount>) -> Result<(), String> {
    let dimension = Dimension::from_unit(unit).ok_or_else(|| unit.to_owned())?;
    for amount in amounts {
        *amount = Amount::given_in_unit(amount.value, dimension);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::Evidence;
    use crate::library::{self, Study};
    use crate::page::{Shown, page};
    use crate::verdict::Verdict;

    fn read(text: &str) -> Claims {
        Claims::read(text).expect("claims")
    }

    fn judged(claims: &Claims) -> Vec<Judged> {
        claims
            .judge(&Evidence::default(), &BTreeMap::new())
            .expect("verdicts")
    }

    fn written(judged: &[Judged]) -> KeptVerdicts {
        let text = serde_json::to_string(judged).expect("JSON");
        serde_json::from_str(&text).expect("verdicts")
    }

    #[test]
    fn kept_verdicts_make_the_page_that_the_verdicts_made() {
        let evidence = Evidence::default();
        for name in library::names() {
            let claims = Study::named(name).expect(name).claims;
            let made = judged(&claims);
            let kept = claims.kept(&written(&made)).expect(name);
            let [made, kept] = [made, kept].map(|judged| {
                let shown = Shown {
                    claims: &claims,
                    judged: &judged,
                    evidence: &evidence,
                    from: None,
                };
                page(&[shown]).expect(name)
            });
            assert!(made == kept, "the pages of {name} differ");
        }
    }

    #[test]
    fn verdicts_of_other_claims_or_numbers_are_refused() {
        let head = "wirecost: 1\nstudy: test\nsource: a paper\nclaims:\n";
        let one = "- {id: A, says: a, published: 3 B, arithmetic: 1 B + 2 B}\n";
        let two = "- {id: B, says: b, published: 5, arithmetic: 1 + 2}\n";
        let both = read(&format!("{head}{one}{two}"));
        let file = written(&judged(&both));
        let kept = both.kept(&file).expect("verdicts");
        assert_eq!(kept, judged(&both));
        // Of a file of more claims, those that are asked for.
        assert_eq!(
            read(&format!("{head}{two}")).kept(&file).expect("a verdict"),
            kept[1..]
        );
        let first = KeptVerdicts(file.0[..1].to_vec());
        assert_eq!(both.kept(&first), Err(KeptError::Absent("B".to_owned())));
        let other = read(&format!("{head}{one}{}", two.replace('5', "6")));
        assert_eq!(other.kept(&file), Err(KeptError::Other("B".to_owned())));
        let closer = read(&format!("{head}{one}{}", two.replace("}", ", within: 0.1%}")));
        assert_eq!(closer.kept(&file), Err(KeptError::Rule("B".to_owned())));
        let formula = read(&format!("{head}{}{two}", one.replace("1 B", "2 B")));
        assert_eq!(formula.kept(&file), Err(KeptError::Rule("A".to_owned())));
        // Other words, and another verdict that has to come out, are no other rule.
        let words = two.replace("says: b", "says: c, where: here, expect: differs");
        let expected = read(&format!("{head}{one}{words}"))
            .kept(&file)
            .expect("verdicts");
        assert_eq!(expected[1].expect, Some(Verdict::Differs));
        let mut older = file.clone();
        older.0[1].rule.clear();
        assert_eq!(both.kept(&older), Err(KeptError::Rule("B".to_owned())));
        let mut strange = file;
        strange.0[0].points[0].unit = "ell".to_owned();
        let error = both.kept(&strange).expect_err("a unit").to_string();
        assert_eq!(error, "\"ell\" in A is not the unit of a verdict");
    }
}
