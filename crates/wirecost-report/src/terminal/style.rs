//! Escape sequences (ECMA-48, select graphic rendition), or plain text.

use wirecost_proto::Layer;

/// The style of the output.
pub(super) struct Style {
    color: bool,
}

impl Style {
    /// With escape sequences where `color`.
    pub(super) const fn new(color: bool) -> Self {
        Self { color }
    }

    /// Bold: the best value, headings.
    pub(super) fn bold(&self, text: &str) -> String {
        self.dressed("1", text)
    }

    /// Faint: units, legend.
    pub(super) fn faint(&self, text: &str) -> String {
        self.dressed("2", text)
    }

    /// Red: figures that must not be used.
    pub(super) fn alarm(&self, text: &str) -> String {
        self.dressed("31", text)
    }

    /// The layer's colour, from the 256 of xterm, near those of the report.
    pub(super) fn layer(&self, layer: Layer, text: &str) -> String {
        let code = match layer {
            Layer::Ip => "38;5;25",
            Layer::Transport => "38;5;74",
            Layer::Security => "38;5;175",
            Layer::Application => "38;5;214",
            Layer::Payload => "38;5;36",
        };
        self.dressed(code, text)
    }

    fn dressed(&self, code: &str, text: &str) -> String {
        if self.color && !text.is_empty() {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }
}
