//! Radio buttons that choose one of many panels, without scripts.
//!
//! Every button has a class for its level and value, and every panel one class per level. The style sheet hides a panel
//! unless the buttons of all its classes are chosen. A browser without `:has` shows all panels.

use serde::Serialize;

/// One choice.
#[derive(Serialize)]
pub(crate) struct Control {
    /// The label of the choice.
    legend: String,
    /// Name of the buttons, unique in the page.
    name: String,
    level: usize,
    options: Vec<String>,
    /// The option that is chosen at first.
    chosen: usize,
}

/// Choices, the first of which is the outermost.
pub(crate) struct Controls {
    prefix: &'static str,
    number: usize,
    all: Vec<Control>,
}

impl Controls {
    /// No choice yet; `prefix` and `number` make the names of the buttons unique in the page.
    pub(crate) const fn new(prefix: &'static str, number: usize) -> Self {
        Self {
            prefix,
            number,
            all: Vec::new(),
        }
    }

    /// Adds a choice among `options`.
    pub(crate) fn choose(&mut self, legend: &str, options: impl Iterator<Item = String>) {
        self.choose_from(legend, options, 0);
    }

    /// Adds a choice among `options`, of which `chosen` is chosen at first.
    pub(crate) fn choose_from(&mut self, legend: &str, options: impl Iterator<Item = String>, chosen: usize) {
        let level = self.all.len();
        self.all.push(Control {
            legend: legend.to_owned(),
            name: format!("{}{}-{level}", self.prefix, self.number),
            level,
            options: options.collect(),
            chosen,
        });
    }

    /// The choices.
    pub(crate) fn finish(self) -> Vec<Control> {
        self.all
    }
}

/// The classes of the panel that is shown when these values are chosen, one per level.
pub(crate) fn panel_classes(values: &[usize]) -> String {
    let class = |(level, value): (usize, &usize)| format!("p{level}v{value}");
    let classes: Vec<String> = values.iter().enumerate().map(class).collect();
    classes.join(" ")
}

/// The style sheet of all `controls`.
pub(crate) fn rules<'a>(controls: impl Iterator<Item = &'a Control>) -> String {
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
