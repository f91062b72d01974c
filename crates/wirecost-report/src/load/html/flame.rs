//! A CPU profile as a flame graph: a box per frame above the frames that called it. The width of a box is its share of
//! samples.

use std::collections::BTreeMap;

use serde::Serialize;
use wirecost_proto::units::counted;
use wirecost_results::profile::{Folded, KERNEL};

use crate::chart::Figure;
use crate::chart::svg::{Anchor, Svg, fitted};
use crate::number;

/// Height of a box in pixels.
const ROW: f64 = 16.0;
/// Frames above this depth are cut.
const DEPTH: usize = 64;
/// Boxes narrower than this many pixels are not drawn.
const LEAST: f64 = 0.4;
/// Size of the names.
const FONT: f64 = 10.0;
/// Functions that are listed.
const LISTED: usize = 12;

/// The profile of a target.
#[derive(Serialize)]
pub(super) struct Flame {
    figure: Figure,
    samples: String,
    /// Functions with the largest share of their own: name and share.
    hottest: Vec<(String, String)>,
}

/// A frame and the frames that it called.
#[derive(Default)]
struct Node {
    count: u64,
    callees: BTreeMap<String, Self>,
}

impl Flame {
    /// The graph; `None` without samples.
    pub(super) fn from_folded(folded: &Folded) -> Option<Self> {
        let samples = folded.samples();
        if samples == 0 {
            return None;
        }
        let mut root = Node::default();
        for (frames, count) in folded.stacks() {
            let mut node = &mut root;
            node.count += count;
            for frame in frames.take(DEPTH) {
                node = node.callees.entry(frame.to_owned()).or_default();
                node.count += count;
            }
        }
        let depth = root.depth();
        Some(Self {
            figure: Figure::new(|width| draw(&root, depth, width), folded.text()),
            samples: number::grouped(samples),
            hottest: hottest(folded),
        })
    }
}

impl Node {
    fn depth(&self) -> usize {
        self.callees
            .values()
            .map(|node| node.depth() + 1)
            .max()
            .unwrap_or(0)
    }
}

fn draw(root: &Node, depth: usize, width: f64) -> String {
    let height = ROW * (depth as f64 + 1.0) + 4.0;
    let mut svg = Svg::new(width, height);
    let scale = (width - 2.0) / root.count as f64;
    boxed(
        &mut svg,
        "all",
        root,
        [1.0, height - ROW - 2.0],
        scale,
        root.count,
    );
    let name = "Flame graph of the target's CPU time";
    svg.finish(
        name,
        &format!(
            "{}, outermost frames at the bottom",
            counted(root.count, "sample")
        ),
    )
}

/// Draws a frame at `place`, its top left corner, and its callees above it.
fn boxed(svg: &mut Svg, name: &str, node: &Node, place: [f64; 2], scale: f64, all: u64) {
    let width = node.count as f64 * scale;
    if width < LEAST {
        return;
    }
    let title = format!(
        "{name}: {} of {} samples, {}",
        number::grouped(node.count),
        number::grouped(all),
        number::percent(node.count as f64 / all as f64)
    );
    let class = format!("frame {}", class(name));
    svg.rect(&class, [place[0], place[1], width, ROW - 1.0], &title);
    let text = fitted(name.trim_end_matches(KERNEL), FONT, width - 4.0);
    if text.chars().count() > 2 {
        svg.text(
            "frame",
            Anchor::Start,
            [place[0] + 2.0, place[1] + ROW - 4.5],
            &text,
        );
    }
    let mut x = place[0];
    for (name, callee) in &node.callees {
        boxed(svg, name, callee, [x, place[1] - ROW], scale, all);
        x += callee.count as f64 * scale;
    }
}

/// The class of the colour: kernel or program, in three shades.
fn class(name: &str) -> String {
    let shade = name
        .bytes()
        .fold(0_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()))
        % 3;
    let of = if name.ends_with(KERNEL) { "kernel" } else { "user" };
    format!("{of} f{shade}")
}

/// The innermost frames seen most often.
fn hottest(folded: &Folded) -> Vec<(String, String)> {
    let mut own: BTreeMap<&str, u64> = BTreeMap::new();
    for (mut frames, count) in folded.stacks() {
        if let Some(innermost) = frames.next_back() {
            *own.entry(innermost).or_default() += count;
        }
    }
    let mut own: Vec<(&str, u64)> = own.into_iter().collect();
    own.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let all = folded.samples() as f64;
    own.into_iter()
        .take(LISTED)
        .map(|(name, count)| (number::plain(name), number::percent(count as f64 / all)))
        .collect()
}
