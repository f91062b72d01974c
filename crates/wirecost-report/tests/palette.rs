//! The colours of the style sheet: text has a contrast of at least 4.5:1, and the colours of stacks can be told apart.

use std::collections::BTreeMap;

const STYLE: &str = include_str!("../templates/style.css");
const STACKS: usize = 12;
/// WCAG 2.2, success criterion 1.4.3.
const LEAST_CONTRAST: f64 = 4.5;
/// Distance in OKLab. Two colours of adjacent curves are taken for each other below about 0.05.
const LEAST_DISTANCE: f64 = 0.12;

type Rgb = [f64; 3];

/// The colours of the light scheme and of the dark one, by name.
fn schemes() -> [BTreeMap<String, Rgb>; 2] {
    let dark_from = STYLE.find("prefers-color-scheme: dark").expect("a dark scheme");
    let end = dark_from + STYLE[dark_from..].find("\n}").expect("its end");
    let light = colors(&STYLE[..dark_from]);
    let mut dark = light.clone();
    dark.extend(colors(&STYLE[dark_from..end]));
    [light, dark]
}

fn colors(css: &str) -> BTreeMap<String, Rgb> {
    let declared = css.split(';').filter_map(|part| part.trim().rsplit_once("--"));
    declared
        .filter_map(|(_, declared)| declared.split_once(": #"))
        .map(|(name, digits)| (name.to_owned(), rgb(digits.trim())))
        .collect()
}

fn rgb(digits: &str) -> Rgb {
    let whole: String = match digits.len() {
        3 => digits.chars().flat_map(|digit| [digit, digit]).collect(),
        _ => digits.to_owned(),
    };
    [0, 2, 4].map(|at| f64::from(u8::from_str_radix(&whole[at..at + 2], 16).expect("hexadecimal")) / 255.0)
}

fn linear(share: f64) -> f64 {
    if share <= 0.04045 {
        share / 12.92
    } else {
        ((share + 0.055) / 1.055).powf(2.4)
    }
}

fn luminance(color: Rgb) -> f64 {
    let [red, green, blue] = color.map(linear);
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

fn contrast(a: Rgb, b: Rgb) -> f64 {
    let (a, b) = (luminance(a) + 0.05, luminance(b) + 0.05);
    a.max(b) / a.min(b)
}

/// OKLab by B. Ottosson, from linear sRGB.
fn oklab(color: Rgb) -> Rgb {
    let [red, green, blue] = color.map(linear);
    let cones = [
        0.412_221_47 * red + 0.536_332_54 * green + 0.051_445_99 * blue,
        0.211_903_5 * red + 0.680_699_55 * green + 0.107_396_96 * blue,
        0.088_302_46 * red + 0.281_718_84 * green + 0.629_978_7 * blue,
    ];
    let [long, middle, short] = cones.map(f64::cbrt);
    [
        0.210_454_26 * long + 0.793_617_79 * middle - 0.004_072_05 * short,
        1.977_998_5 * long - 2.428_592_2 * middle + 0.450_593_71 * short,
        0.025_904_04 * long + 0.782_771_77 * middle - 0.808_675_77 * short,
    ]
}

fn distance(a: Rgb, b: Rgb) -> f64 {
    let squares = oklab(a).into_iter().zip(oklab(b)).map(|(a, b)| (a - b).powi(2));
    squares.sum::<f64>().sqrt()
}

/// `share` of a colour over another one, as `color-mix` in sRGB.
fn mixed(color: Rgb, share: f64, over: Rgb) -> Rgb {
    [0, 1, 2].map(|at| color[at] * share + over[at] * (1.0 - share))
}

#[test]
fn labels_have_a_contrast_of_4_5_to_1() {
    let stacks = (0..STACKS).map(|number| format!("s{number}"));
    let named = ["ink", "muted", "accent", "alarm", "good", "connect", "message"];
    let names: Vec<String> = stacks.chain(named.map(str::to_owned)).collect();
    for (scheme, colors) in ["light", "dark"].iter().zip(schemes()) {
        for name in &names {
            for ground in ["paper", "card"] {
                let ratio = contrast(colors[name], colors[ground]);
                assert!(ratio >= LEAST_CONTRAST, "{scheme}: {name} on {ground} {ratio:.2}");
            }
        }
    }
}

#[test]
fn labels_in_maps_have_a_contrast_of_4_5_to_1() {
    assert!(STYLE.contains("color-mix(in srgb, var(--w) 26%, var(--card))"));
    for (scheme, colors) in ["light", "dark"].iter().zip(schemes()) {
        for number in 0..STACKS {
            let ground = mixed(colors[&format!("s{number}")], 0.26, colors["card"]);
            let ratio = contrast(colors["ink"], ground);
            assert!(ratio >= LEAST_CONTRAST, "{scheme}: ink on s{number} {ratio:.2}");
        }
    }
}

#[test]
fn labels_on_bars_have_a_contrast_of_4_5_to_1() {
    assert!(STYLE.contains("svg .on { fill: #111; pointer-events: none; } svg .on.ip { fill: #fff; }"));
    for colors in schemes() {
        for layer in ["transport", "security", "application", "payload"] {
            let ratio = contrast(rgb("111"), colors[layer]);
            assert!(ratio >= LEAST_CONTRAST, "{layer} {ratio:.2}");
        }
        assert!(contrast(rgb("fff"), colors["ip"]) >= LEAST_CONTRAST);
    }
}

#[test]
fn the_colors_of_twelve_stacks_can_be_told_apart() {
    for (scheme, colors) in ["light", "dark"].iter().zip(schemes()) {
        for a in 0..STACKS {
            for b in 0..a {
                let apart = distance(colors[&format!("s{a}")], colors[&format!("s{b}")]);
                assert!(apart >= LEAST_DISTANCE, "{scheme}: s{a} and s{b} {apart:.3}");
            }
        }
    }
}
