//! What a fit leaves over: the mean burst as it was measured and as it was fitted, and their difference.

use crate::chart::Scale;
use crate::chart::lines::{Curve, LineChart};
use crate::chart::plot::Axis;
use crate::chart::range;
use crate::standalone;

/// Draws points of seconds, measured and fitted milliamperes as an SVG file.
pub fn draw(points: &[[f64; 3]]) -> String {
    let curve = |label: &str, number, of: fn(&[f64; 3]) -> f64| {
        let each = points.iter().map(|point| (point[0], of(point)));
        Curve::from_points(label.to_owned(), number, each)
    };
    let curves = vec![
        curve("measured", 0, |point| point[1]),
        curve("fitted", 1, |point| point[2]),
        curve("measured - fitted", 2, |point| point[1] - point[2]),
    ];
    let all = points
        .iter()
        .flat_map(|point| [point[1], point[2], point[1] - point[2]]);
    let [low, high] = range(all).unwrap_or([0.0, 1.0]);
    let end = points.last().map_or(1.0, |point| point[0]);
    let begin = points.first().map_or(0.0, |point| point[0]);
    let chart = LineChart::new(
        "Current of the mean burst, measured and fitted",
        Axis::new(Scale::linear(begin, end), "seconds"),
        Axis::new(Scale::linear(low, high), "mA"),
    )
    .with(curves);
    standalone::drawn(&chart)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_residual_is_a_figure_of_its_own_with_three_curves() {
        let svg = draw(&[[0.0, 1.0, 1.1], [1.0, 20.0, 19.0], [2.0, 0.1, 0.1]]);
        assert!(
            svg.starts_with("<svg xmlns=") && svg.ends_with("</svg>\n"),
            "{svg}"
        );
        assert!(
            ["measured", "fitted", "measured - fitted"]
                .iter()
                .all(|name| svg.contains(name))
        );
    }
}
