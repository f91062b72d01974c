//! A fit in parts: the settings of a shard, and those that were measured before.

use std::collections::BTreeMap;

use serde_json::Value;
use wirecost_scenario::parameter;

use super::{Fit, FitError, TriedSetting};

/// A figure as a file keeps it, with as many digits as every reader of JSON reads exactly: one that is read there is the one that was
/// measured.
pub(super) fn kept(value: f64) -> f64 {
    format!("{value:.11e}").parse().unwrap_or(value)
}

impl Fit<'_> {
    /// The settings of the shard, by their places in the sample; all without one.
    pub fn indices(&self) -> Vec<usize> {
        let is_of_shard = |index: &usize| {
            let shard = self.asked.shard;
            shard.is_none_or(|shard| shard.holds(&format!("setting {index}")))
        };
        (0..self.settings).filter(is_of_shard).collect()
    }

    /// The settings that are known, by their places in the sample.
    pub(super) fn known_of(
        &self,
        sample: &[BTreeMap<&'static str, String>],
    ) -> Result<BTreeMap<usize, TriedSetting>, FitError> {
        let each = self.known.iter().map(|known| {
            let mut values = known.values.clone();
            if let Some(solved) = &self.free.solved {
                // A solved parameter follows from the others: the sample does not have it.
                values.remove(solved.path);
            }
            let place = sample.iter().position(|one| *one == values);
            let place = place.ok_or_else(|| {
                let all = known.values.iter().map(|(path, value)| format!("{path}={value}"));
                FitError::OtherFit(all.collect::<Vec<_>>().join(", "))
            })?;
            Ok((place, known.clone()))
        });
        each.collect()
    }

    /// A setting as JSON has it.
    ///
    /// # Errors
    /// It is none of these points and statements; what it lacks.
    pub fn read_setting(&self, setting: &Value) -> Result<TriedSetting, String> {
        let list = |key: &str, length: usize| {
            let list = setting.get(key).and_then(Value::as_array);
            let list = list.filter(|list| list.len() == length);
            list.ok_or_else(|| format!("{key} has no list of {length}"))
        };
        let values = setting.get("values").and_then(Value::as_object);
        let values = values.ok_or("it has no values")?.iter().map(|(path, value)| {
            let path = parameter::path(path).map_err(|error| error.to_string())?;
            let value = value.as_str().ok_or_else(|| format!("{path} is no text"))?;
            Ok((path, value.to_owned()))
        });
        let measured = list("measured", self.points.len())?
            .iter()
            .map(|value| match value {
                Value::Null => Ok(None),
                // JSON has no infinity.
                Value::String(word) if word == "never" => Ok(Some(f64::INFINITY)),
                other => other
                    .as_f64()
                    .map(Some)
                    .ok_or_else(|| format!("{other} is no figure")),
            });
        let holds = list("holds", self.statements.len())?.iter().map(Value::as_bool);
        Ok(TriedSetting::new(
            values.collect::<Result<_, String>>()?,
            measured.collect::<Result<_, String>>()?,
            holds.collect(),
            self.points,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_that_is_kept_is_read_as_it_is() {
        for value in [
            2.0 / 3.0,
            0.1 + 0.2,
            1.0 / 7e5,
            1.0,
            19.999_999_999_999_8,
            f64::INFINITY,
        ] {
            let kept = kept(value);
            assert!(kept == value || (kept / value - 1.0).abs() < 1e-11);
            if kept.is_finite() {
                let text = serde_json::to_string(&kept).expect("a number");
                assert_eq!(serde_json::from_str::<f64>(&text).expect("a number"), kept);
            }
        }
    }
}
