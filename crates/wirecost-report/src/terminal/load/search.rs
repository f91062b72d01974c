//! The searches of a run for the highest rate: the conclusion, then one row for each tried rate.

use wirecost_results::rate_search::{AtRate, RateSearch, RateTrial};

use super::columns::Columns;
use super::{NAME, Page};
use crate::load::words::search;
use crate::number;

/// `1,000/s holds: p(99) is 1.200 ms`: one load of a search, as soon as it is over.
pub(super) fn trial_line(of: &RateSearch, trial: &RateTrial) -> String {
    let rate = number::rate(trial.rate);
    let text = match &trial.why {
        Some(why) => format!("{rate}/s does not hold: {why}"),
        None => format!(
            "{rate}/s holds: {} is {} ms",
            search::figure_name(of),
            search::figure(trial)
        ),
    };
    number::plain(&text)
}

impl Page {
    /// The conclusion and the tried rates of a search.
    pub(super) fn search(&self, of: &RateSearch) -> Vec<String> {
        let conclusion = search::conclusion(of);
        let mut lines = match of.ended_by_generator {
            true => self
                .wrap(&conclusion)
                .iter()
                .map(|line| self.style.alarm(line))
                .collect(),
            false => self.entry("highest rate", &conclusion),
        };
        if let Some(limit) = search::limit(of) {
            lines.extend(self.entry("limit", &limit));
        }
        lines.extend(self.entry("load", &number::plain(&of.name)));
        lines.extend(self.entry("goal", &search::goal(of)));
        lines.push(String::new());
        let name = search::figure_name(of);
        let mut columns = Columns::new("offered/s", ["good trials", "worst ms", "bottleneck"]);
        columns.drop_order(&[2, 0]);
        for at in AtRate::all(&of.trials) {
            let (figure, bottleneck) = (search::worst(of, at.rate), search::bottleneck(of, at.rate));
            let good = format!("{} of {}", at.good, at.trials());
            columns.row(&number::rate(at.rate), [good, figure, bottleneck]);
            if !at.holds() {
                columns.alarm();
            }
        }
        lines.extend(columns.lines(NAME, self.width, &self.style));
        lines.extend(self.wrap(&format!("worst: the largest {name} of the trials at this rate")));
        lines
    }
}
