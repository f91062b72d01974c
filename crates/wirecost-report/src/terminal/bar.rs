//! The block bar: a message's bytes by layer, both directions together.

use wirecost_proto::Layer;
use wirecost_results::Cell;

use super::style::Style;
use crate::figures::{ByLayer, message_bytes};

/// The bytes of the longest bar of a group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale(f64);

impl Scale {
    /// The scale on which the largest message of `cells` fills its bar.
    pub(super) fn from_cells(cells: &[&Cell]) -> Self {
        let messages = cells.iter().filter_map(|cell| message_bytes(cell));
        Self(
            messages
                .map(|bytes| bytes.up.total() + bytes.down.total())
                .fold(1.0, f64::max),
        )
    }

    /// Characters of each layer in a bar of at most `width`. Edges are rounded, not parts, so that bars of equal
    /// bytes have equal length.
    pub(super) fn parts(self, bytes: &ByLayer, width: usize) -> [(Layer, usize); 5] {
        let mut sum = 0.0;
        let mut edge = 0;
        Layer::ALL.map(|layer| {
            sum += bytes.0[layer as usize];
            let next = (sum / self.0 * width as f64).round() as usize;
            let part = next.saturating_sub(edge);
            edge = next;
            (layer, part)
        })
    }
}

/// The bar, padded to `width` characters.
pub(super) fn draw(parts: [(Layer, usize); 5], width: usize, style: &Style) -> String {
    let drawn: usize = parts.iter().map(|(_, part)| part).sum();
    let blocks = parts.map(|(layer, part)| style.layer(layer, &glyph(layer).repeat(part)));
    blocks.concat() + &" ".repeat(width.saturating_sub(drawn))
}

/// The legend of the glyphs.
pub(super) fn legend(style: &Style) -> String {
    let entry = |layer| format!("{} {}", style.layer(layer, glyph(layer)), Layer::name(layer));
    Layer::ALL.map(entry).join("  ")
}

const fn glyph(layer: Layer) -> &'static str {
    match layer {
        Layer::Ip => "█",
        Layer::Transport => "▓",
        Layer::Security => "▒",
        Layer::Application => "░",
        Layer::Payload => "·",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_long_as_its_bytes() {
        let bytes = ByLayer([20.0, 32.0, 0.0, 7.0, 128.0]);
        let parts = Scale(374.0).parts(&bytes, 40);
        assert_eq!(parts.iter().map(|(_, part)| part).sum::<usize>(), 20);
        assert_eq!(parts.map(|(_, part)| part), [2, 4, 0, 0, 14]);
    }
}
