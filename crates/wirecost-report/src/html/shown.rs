//! Charts as pages show them.
//!
//! A page has a list of its charts. Each says in which section it stands and how it is made of what the page is about. The template
//! shows the charts of each section with `charts` of `figure.html`. A new chart is a file and its lines in the list.

use std::collections::BTreeSet;

use serde::Serialize;

use super::grid::Grid;
use crate::chart::Figure;

/// Where a chart stands on its page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    /// In a section of the template, which its anchor names.
    Of(&'static str),
    /// In a section of its own before the tables, with this anchor and title.
    Own(&'static str, &'static str),
}

impl Section {
    const fn anchor(self) -> &'static str {
        match self {
            Self::Of(anchor) | Self::Own(anchor, _) => anchor,
        }
    }
}

/// A part of a page that has charts, such as one group of cells.
pub(crate) trait Subject {
    /// What its charts are made of.
    type Of<'a>;
}

/// An entry of a list of charts.
pub(crate) struct Chart<S: Subject> {
    pub(crate) section: Section,
    /// Makes the chart; `None` where there is nothing to draw.
    pub(crate) show: fn(&S::Of<'_>) -> Option<Shown>,
}

/// A chart with what stands around it.
#[derive(Default, Serialize)]
pub(crate) struct Shown {
    /// A heading above it; may be empty.
    pub(crate) title: String,
    /// A note above it; may be empty.
    pub(crate) note: String,
    /// The class and name of each colour.
    pub(crate) legend: Vec<(String, String)>,
    /// `None` where only the words are shown.
    pub(crate) figure: Option<Figure>,
    /// What it shows, or why there is no figure.
    pub(crate) words: String,
    /// The table behind it.
    pub(crate) table: Option<Grid>,
    /// What the remarks are; empty without any.
    pub(crate) remarks_are: &'static str,
    /// Remarks below it, which the reader opens.
    pub(crate) remarks: Vec<String>,
}

impl Shown {
    /// A figure and what it shows.
    pub(crate) fn new(figure: Figure, words: impl Into<String>) -> Self {
        Self {
            figure: Some(figure),
            words: words.into(),
            ..Self::default()
        }
    }
}

/// The charts of a list that there is something to draw in, each with the anchor of its section.
pub(crate) fn all<S: Subject>(list: &[Chart<S>], of: &S::Of<'_>) -> Vec<(&'static str, Shown)> {
    let shown = |chart: &Chart<S>| Some((chart.section.anchor(), (chart.show)(of)?));
    list.iter().filter_map(shown).collect()
}

/// The anchors and titles of the sections that charts have of their own, each once: of those charts that are shown.
pub(crate) fn own_sections<'s, S: Subject>(
    list: &[Chart<S>],
    shown: impl IntoIterator<Item = &'s (&'static str, Shown)>,
) -> Vec<(&'static str, &'static str)> {
    let anchors: BTreeSet<&str> = shown.into_iter().map(|(anchor, _)| *anchor).collect();
    let mut sections = Vec::new();
    for chart in list {
        if let Section::Own(anchor, title) = chart.section
            && anchors.contains(anchor)
            && !sections.contains(&(anchor, title))
        {
            sections.push((anchor, title));
        }
    }
    sections
}

/// Fails for a chart of a list whose section the template does not show.
#[cfg(test)]
pub(crate) fn assert_shown<S: Subject>(template: &str, list: &[Chart<S>]) {
    for chart in list {
        let call = match chart.section {
            Section::Of(anchor) => format!(", \"{anchor}\") }}}}"),
            Section::Own(..) => ", section) }}".to_owned(),
        };
        let is_shown = template.split(" charts(").skip(1).any(|rest| {
            rest.find("}}")
                .is_some_and(|end| rest[..end + 2].ends_with(&call))
        });
        assert!(is_shown, "no section of the template shows {:?}", chart.section);
    }
}
