//! The figures of a report as files of their own: SVG that needs neither the page nor its style sheet.
//!
//! A figure keeps its classes and takes along the rules that are about it, in the colours of a light page, so that programs for
//! print (Inkscape, rsvg-convert, LaTeX), which know no variables of CSS, draw it as the browser does.

use std::collections::BTreeMap;

use crate::chart::lines::LineChart;
use crate::html::STYLE;

/// The style sheets of all pages.
const SHEETS: [&str; 3] = [
    STYLE,
    include_str!("../templates/load.css"),
    include_str!("../templates/nbiot.css"),
];

/// What a figure has from the page around it.
const AROUND: &str = "svg { background: #fff; color: #1b1d21; font-family: system-ui, \"Segoe UI\", Roboto, \"Liberation Sans\", Arial, sans-serif; }";

/// The beginning of a figure, as the writer of SVG makes it.
const BEGIN: &str = "<svg viewBox=\"0 0 ";
const END: &str = "</svg>";

/// The width of a figure that is drawn for a file, in CSS pixels.
const WIDTH: f64 = 680.0;

/// A chart as the text of an SVG file.
pub(crate) fn drawn(chart: &LineChart) -> String {
    let figures = figures(&chart.draw(WIDTH));
    figures
        .into_iter()
        .next()
        .map_or_else(String::new, |figure| figure.svg)
}

/// A figure of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Figure {
    /// The name of its file.
    pub file: String,
    /// Its content.
    pub svg: String,
}

/// The figures of a page, in its order. A figure that is there in several widths is taken in the largest.
pub fn figures(page: &str) -> Vec<Figure> {
    let style = style();
    let mut found: Vec<(String, f64, String)> = Vec::new();
    for part in page.split(BEGIN).skip(1) {
        let Some((inner, _)) = part.split_once(END) else {
            continue;
        };
        let Some((size, name)) = inner.split_once('"').zip(attribute(inner, "aria-label")) else {
            continue;
        };
        let (size, _) = size;
        let Some((width, height)) = size.split_once(' ') else {
            continue;
        };
        let wide: f64 = width.parse().unwrap_or_default();
        let body = inner.split_once('>').map_or("", |(_, body)| body);
        let svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
             role=\"img\" aria-label=\"{name}\">\n<style>{style}</style>\n{body}{END}\n"
        );
        match found.iter_mut().find(|(known, ..)| known == name) {
            // A page has each figure for a desktop and for a phone.
            Some(known) if known.1 < wide => (known.1, known.2) = (wide, svg),
            Some(_) => {}
            None => found.push((name.to_owned(), wide, svg)),
        }
    }
    let numbered = found.into_iter().enumerate();
    numbered
        .map(|(place, (name, _, svg))| Figure {
            file: format!("{:02}-{}.svg", place + 1, slug(&name)),
            svg,
        })
        .collect()
}

/// The text of an attribute of the first element.
fn attribute<'a>(element: &'a str, name: &str) -> Option<&'a str> {
    let (head, _) = element.split_once('>')?;
    let (_, rest) = head.split_once(&format!("{name}=\""))?;
    rest.split_once('"').map(|(value, _)| value)
}

/// A name of the page as that of a file: small letters, digits and hyphens. An escaped sign such as `&#39;` counts as one sign.
fn slug(name: &str) -> String {
    let mut slug = String::new();
    let mut escaped = false;
    for letter in name.chars() {
        escaped = letter == '&' || (escaped && letter != ';');
        if escaped {
            continue;
        }
        match letter.is_ascii_alphanumeric() {
            true => slug.push(letter.to_ascii_lowercase()),
            false if slug.ends_with('-') || slug.is_empty() => {}
            false => slug.push('-'),
        }
    }
    // File systems refuse names of more than 255 bytes.
    let cut: String = slug.chars().take(60).collect();
    cut.trim_end_matches('-').to_owned()
}

/// The rules of all pages that are about figures, without variables.
fn style() -> String {
    let light = variables(STYLE);
    let mut text = AROUND.to_owned();
    for sheet in SHEETS {
        for (selector, rule) in rules(sheet) {
            let mut selectors = selector.split(',').map(str::trim);
            // What the size of the page decides is not for a file.
            let is_about_figures = selectors.all(|one| one.starts_with("svg ") || one.starts_with("path."));
            if is_about_figures && !selector.contains(":hover") {
                text += &format!("\n{selector} {{{}}}", resolved(rule, &light));
            }
        }
    }
    text
}

/// The rules of a style sheet that are in no block of conditions.
fn rules(sheet: &str) -> Vec<(&str, &str)> {
    let mut rules = Vec::new();
    let mut rest = sheet;
    // The sheet is our own: a few rules need no parser of CSS.
    while let Some((selector, after)) = rest.split_once('{') {
        let selector = selector.trim();
        let end = match selector.starts_with('@') {
            // Rules for narrow pages or for print do not hold in a picture by itself.
            true => block_end(after),
            false => after.find('}'),
        };
        let Some(end) = end else {
            break;
        };
        if !selector.starts_with('@') {
            rules.push((selector, after[..end].trim()));
        }
        rest = &after[end + 1..];
    }
    rules
}

/// The end of a block that contains blocks.
fn block_end(text: &str) -> Option<usize> {
    let mut depth = 1_usize;
    text.char_indices().find_map(|(at, letter)| {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        (depth == 0).then_some(at)
    })
}

/// The variables of a style sheet's first rule, which is that of a light page.
fn variables(sheet: &str) -> BTreeMap<&str, &str> {
    let first = rules(sheet).first().map_or("", |(_, rule)| rule);
    let pairs = first.split(';').filter_map(|pair| pair.split_once(':'));
    pairs
        .map(|(name, value)| (name.trim(), value.trim()))
        .filter(|(name, _)| name.starts_with("--"))
        .collect()
}

/// A rule with the values of its variables.
fn resolved(rule: &str, variables: &BTreeMap<&str, &str>) -> String {
    let mut text = rule.to_owned();
    for (name, value) in variables {
        text = text.replace(&format!("var({name})"), value);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_style_of_a_figure_needs_no_page() {
        let style = style();
        assert!(
            !style.contains("var(") && !style.contains('@') && !style.contains('<'),
            "{style}"
        );
        assert!(
            style.contains("\nsvg rect.ip { fill: #0072b2; }")
                || style.contains("\nsvg rect.ip {fill: #0072b2;}"),
            "{style}"
        );
        assert!(style.contains("path.device.served"), "{style}");
    }

    #[test]
    fn a_figure_is_taken_once_in_its_largest_width() {
        let figure = |width: u32, name: &str| {
            format!(
                "<svg viewBox=\"0 0 {width} 20\" style=\"max-width:{width}px\" role=\"img\" aria-label=\"{name}\"><title>{name}</title></svg>"
            )
        };
        let page = [
            figure(300, "Bytes by layer"),
            figure(900, "Bytes by layer"),
            "<svg class=\"key\" viewBox=\"0 0 26 10\"></svg>".to_owned(),
            figure(10, "Times &lt; 1 s"),
        ]
        .concat();
        let found = figures(&page);
        let files: Vec<&str> = found.iter().map(|figure| figure.file.as_str()).collect();
        assert_eq!(files, ["01-bytes-by-layer.svg", "02-times-1-s.svg"]);
        assert!(
            found[0]
                .svg
                .starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"900\" height=\"20\"")
        );
        assert!(found[0].svg.ends_with("<title>Bytes by layer</title></svg>\n"));
    }
}
