//! Radio buttons that choose one of many panels, by the style sheet alone.
//!
//! Every button has a class of its level and value, every panel one of each level. A panel is hidden as long as the button of
//! any of its classes is not chosen. A browser that does not know `:has` shows all panels.

use serde::Serialize;

/// One choice.
#[derive(Serialize)]
pub(super) struct Control {
    /// What is chosen.
    legend: String,
    /// Name of the buttons, unique in the page.
    name: String,
    level: usize,
    options: Vec<String>,
}

/// Choices, the first of which is the outermost.
pub(super) struct Controls {
    prefix: &'static str,
    number: usize,
    all: Vec<Control>,
}

impl Controls {
    /// No choice yet; `prefix` and `number` set the buttons apart from those of the page's other figures.
    pub(super) const fn new(prefix: &'static str, number: usize) -> Self {
        Self {
            prefix,
            number,
            all: Vec::new(),
        }
    }

    /// Adds a choice among `options`.
    pub(super) fn choose(&mut self, legend: &str, options: impl Iterator<Item = String>) {
        let level = self.all.len();
        self.all.push(Control {
            legend: legend.to_owned(),
            name: format!("{}{}-{level}", self.prefix, self.number),
            level,
            options: options.collect(),
        });
    }

    /// The choices.
    pub(super) fn finish(self) -> Vec<Control> {
        self.all
    }
}

/// The classes of the panel that is shown when these values are chosen, one per level.
pub(super) fn panel_classes(values: &[usize]) -> String {
    let class = |(level, value): (usize, &usize)| format!("p{level}v{value}");
    let classes: Vec<String> = values.iter().enumerate().map(class).collect();
    classes.join(" ")
}

/// The style sheet of all `controls`.
pub(super) fn rules<'a>(controls: impl Iterator<Item = &'a Control>) -> String {
    let mut most: Vec<usize> = Vec::new();
    for control in controls {
        most.resize(most.len().max(control.level + 1), 0);
        most[control.level] = most[control.level].max(control.options.len());
    }
    let of_level = |(level, count): (usize, usize)| {
        (0..count).map(move |value| {
            format!(".pick:has(.l{level}v{value}:not(:checked)) .p{level}v{value}{{display:none}}\n")
        })
    };
    most.into_iter().enumerate().flat_map(of_level).collect()
}
