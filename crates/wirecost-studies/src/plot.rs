//! The plots and tables of a publication, drawn from our figures with the published numbers in them.
//!
//! Which ones there are is data: `plots` and `tables` of a claims file. The published numbers are those of its claims.

use std::collections::BTreeMap;

use crate::amount::Published;
use crate::claims::{Claims, Grid, Plot, Question};
use crate::evidence::{Evidence, Figure, Missing};
use crate::judge::rules::shown;
use crate::reference::Reference;

mod draw;
pub(crate) use draw::figure as chart;

/// The lines of a plot.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawing {
    /// What they are of.
    pub lines: Vec<Line>,
    /// The values of the dimension to the right, in the order of the run.
    pub values: Vec<String>,
}

/// A line of a plot: our figures and the published numbers, by the value of the dimension to the right.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The value of the dimension of the lines.
    pub name: String,
    /// Our figures.
    pub ours: BTreeMap<String, Figure>,
    /// The published numbers, with the claims that have them.
    pub published: BTreeMap<String, Vec<(String, Published)>>,
}

impl Plot {
    /// The lines from results and claims. Without results, there are the published numbers alone.
    ///
    /// # Errors
    /// The figure fits several cells for one value of both dimensions: the plot does not say which.
    pub fn drawing(&self, claims: &Claims, evidence: &Evidence) -> Result<Drawing, String> {
        let mut drawing = Drawing {
            lines: Vec::new(),
            values: Vec::new(),
        };
        for ((labels, _), _) in evidence.all(&self.of) {
            let (Some(value), Some(name)) = (labels.get(self.over.as_str()), labels.get(self.lines.as_str()))
            else {
                continue;
            };
            let line = drawing.line(name, value);
            // Cells that differ in something else have the same line and value: `figure` looks all of them up at once.
            if line.ours.contains_key(value) {
                continue;
            }
            if let Some(figure) = figure(&self.of, &[(&self.lines, name), (&self.over, value)], evidence)? {
                line.ours.insert(value.clone(), figure);
            }
        }
        for (claim, published, at) in published(claims, &self.of) {
            if let (Some(name), Some(value)) = (at.get(&self.lines), at.get(&self.over)) {
                let line = drawing.line(name, value);
                line.published
                    .entry(value.clone())
                    .or_default()
                    .push((claim, published));
            }
        }
        Ok(drawing)
    }
}

impl Drawing {
    /// The line of a name, which is made if it is not there, like the value.
    fn line(&mut self, name: &str, value: &str) -> &mut Line {
        if !self.values.iter().any(|known| known == value) {
            self.values.push(value.to_owned());
        }
        let found = self.lines.iter().position(|line| line.name == name);
        let at = found.unwrap_or_else(|| {
            self.lines.push(Line {
                name: name.to_owned(),
                ours: BTreeMap::new(),
                published: BTreeMap::new(),
            });
            self.lines.len() - 1
        });
        &mut self.lines[at]
    }

    /// Whether there is nothing to draw.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }
}

impl Grid {
    /// The rows from results and claims: the value of the dimension, and a text for each column.
    ///
    /// # Errors
    /// A figure fits several cells for one value of the dimension.
    pub fn rows(&self, claims: &Claims, evidence: &Evidence) -> Result<Vec<(String, Vec<Entry>)>, String> {
        let mut names: Vec<String> = Vec::new();
        for (_, of) in &self.columns {
            let ours = evidence
                .all(of)
                .into_iter()
                .filter_map(|((labels, _), _)| labels.get(self.rows.as_str()).cloned());
            let published = published(claims, of)
                .into_iter()
                .filter_map(|(_, _, at)| at.get(&self.rows).cloned());
            for name in ours.chain(published) {
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
        let row = |name: String| {
            let entries = self
                .columns
                .iter()
                .map(|(_, of)| self.entry(&name, of, claims, evidence));
            Ok((name.clone(), entries.collect::<Result<_, String>>()?))
        };
        names.into_iter().map(row).collect()
    }

    fn entry(
        &self,
        name: &str,
        of: &Reference,
        claims: &Claims,
        evidence: &Evidence,
    ) -> Result<Entry, String> {
        let of_row = published(claims, of).into_iter();
        let of_row = of_row.filter(|(_, _, at)| at.get(&self.rows).is_some_and(|value| value == name));
        // The runs of the columns may have different rows.
        let is_in_run = evidence
            .all(of)
            .iter()
            .any(|((labels, _), _)| labels.get(self.rows.as_str()).is_some_and(|value| value == name));
        let ours = match is_in_run {
            true => figure(of, &[(&self.rows, name)], evidence)?,
            false => None,
        };
        Ok(Entry {
            ours: ours.map(|figure| shown(&figure)),
            published: of_row.map(|(_, published, _)| published.to_string()).collect(),
        })
    }
}

/// An entry of a table.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Entry {
    /// Our figure; null without one.
    pub ours: Option<String>,
    /// The published numbers: several if the publication has several set-ups.
    pub published: Vec<String>,
}

/// The figure where these dimensions have these values; `None` if it was not measured.
fn figure(of: &Reference, at: &[(&str, &str)], evidence: &Evidence) -> Result<Option<Figure>, String> {
    let mut restricted = of.clone();
    for (dimension, value) in at {
        restricted = restricted
            .restricted(dimension, value)
            .map_err(|error| error.to_string())?;
    }
    match evidence.figure(&restricted) {
        Ok(figure) => Ok(Some(figure)),
        Err(Missing::NotRun(_)) => Ok(None),
        Err(Missing::Wrong(why)) => Err(why),
    }
}

/// A published number with the claim that has it and the values of its dimensions.
type PublishedAt = (String, Published, BTreeMap<String, String>);

/// The published numbers of a figure, wherever the values of a claim fit those of the reference.
fn published(claims: &Claims, of: &Reference) -> Vec<PublishedAt> {
    let wanted = of.selector.to_table();
    let mut found = Vec::new();
    for claim in &claims.claims {
        let readings = claim.points.iter().flat_map(|point| {
            let of_point = point.readings.iter();
            of_point.map(|reading| (&reading.question, &point.published))
        });
        for asked in readings {
            let (Question::Value(reference), Some(number)) = asked else {
                continue;
            };
            let is_same = reference.run == of.run
                && reference.metric == of.metric
                && reference.aggregation == of.aggregation;
            let selector = reference.selector.to_table();
            let single = selector.into_iter().filter_map(|(key, mut values)| {
                // A condition with several values names no place in the plot.
                (values.len() == 1).then(|| values.pop().map(|value| (key, value)))?
            });
            let at: BTreeMap<String, String> = single.collect();
            let fits = wanted
                .iter()
                .all(|(key, values)| at.get(key).is_some_and(|value| values.contains(value)));
            if is_same && fits {
                found.push((claim.id.clone(), number.clone(), at));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLAIMS: &str = "wirecost: 1\nstudy: test\nsource: a paper\nruns: {publish: publish.yaml}\n\
plots:\n- {title: by size, of: \"publish/response_time{link.rtt=5ms} p(50)\", over: size, log: [x, y]}\n\
tables:\n- {title: sizes, rows: stack, columns: {bytes: publish/bytes_per_msg mean}}\n\
claims:\n- id: L3\n  says: latency\n  for: {size: [128B, 1kB], link.rtt: [5ms, 25ms]}\n  \
published: [8ms, 9ms, 28ms, 29ms]\n  \
value: \"publish/response_time{stack=tcp,size=$size,link.rtt=$link.rtt} p(50)\"\n\
- {id: B, says: bytes, published: 300B, value: \"publish/bytes_per_msg{stack=tcp} mean\"}\n";

    #[test]
    fn published_numbers_are_in_the_data_of_a_plot() {
        let claims = Claims::read(CLAIMS).expect("claims");
        let evidence = Evidence::default();
        let drawing = claims.plots[0].drawing(&claims, &evidence).expect("a drawing");
        assert_eq!(drawing.values, ["128B", "1kB"]);
        let line = &drawing.lines[0];
        let texts: Vec<String> = line
            .published
            .values()
            .flatten()
            .map(|(_, number)| number.to_string())
            .collect();
        assert_eq!(
            (line.name.as_str(), texts),
            ("tcp", vec!["8ms".to_owned(), "28ms".to_owned()])
        );
        let figure = serde_json::to_value(chart(&claims.plots[0], &drawing, &|_| 0)).expect("a figure");
        let (svg, data) = (figure["wide"].to_string(), &figure["data"]);
        assert!(
            svg.contains("tcp, 128B: published 8ms (L3)") && svg.contains("1kB: published 28ms"),
            "{svg}"
        );
        assert_eq!(
            data,
            "stack,size,published_by,value,unit\ntcp,128B,L3,0.008,s\ntcp,1kB,L3,0.028,s\n"
        );
        let rows = claims.tables[0].rows(&claims, &evidence).expect("rows");
        assert_eq!(
            (rows[0].0.as_str(), &rows[0].1[0].published),
            ("tcp", &vec!["300B".to_owned()])
        );
    }
}
