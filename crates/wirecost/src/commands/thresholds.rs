//! Whether thresholds hold, as a table and as an exit code.

use std::fmt::Write as _;

use wirecost_lab::results::load::Threshold;
use wirecost_lab::scenario::thresholds::figure_text;

use crate::exit;

/// 99 where a threshold does not hold, else 0.
pub fn exit_code(thresholds: &[Threshold]) -> u8 {
    if thresholds.iter().all(|threshold| threshold.pass) {
        exit::OK
    } else {
        exit::THRESHOLD
    }
}

/// One line for each threshold, the worst figure beside it; empty where nothing was demanded.
pub fn table(thresholds: &[Threshold]) -> String {
    if thresholds.is_empty() {
        return String::new();
    }
    let longest = |of: fn(&Threshold) -> &String| {
        thresholds
            .iter()
            .map(|one| of(one).chars().count())
            .max()
            .unwrap_or(0)
    };
    let (metric, expression) = (longest(|one| &one.metric), longest(|one| &one.expression));
    let mut text = String::from("\nthresholds\n");
    for one in thresholds {
        let verdict = if one.pass { "pass" } else { "FAIL" };
        let actual = one
            .actual
            .map_or_else(|| "no figure".into(), |actual| figure_text(one, actual));
        // Writing to a String cannot fail.
        let _written = writeln!(
            text,
            "  {verdict}  {:metric$}  {:expression$}  {actual}",
            one.metric, one.expression
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn threshold(metric: &str, expression: &str, actual: Option<f64>, pass: bool) -> Threshold {
        Threshold {
            metric: metric.into(),
            expression: expression.into(),
            actual,
            pass,
        }
    }

    #[test]
    fn the_table_shows_what_was_demanded_and_what_came() {
        let thresholds = [
            threshold(
                "response_time{stack=tcp}",
                "p(99)<3*link.rtt",
                Some(0.0811),
                false,
            ),
            threshold("bytes_per_msg", "mean<500B", Some(312.5), true),
            threshold("messages_lost", "rate<=1%", None, false),
        ];
        let expected = "\nthresholds\n  \
            FAIL  response_time{stack=tcp}  p(99)<3*link.rtt  81.1 ms\n  \
            pass  bytes_per_msg             mean<500B         312.5 B\n  \
            FAIL  messages_lost             rate<=1%          no figure\n";
        assert_eq!(table(&thresholds), expected);
        assert_eq!(exit_code(&thresholds), 99);
        assert_eq!((exit_code(&thresholds[1..2]), table(&[])), (0, String::new()));
    }
}
