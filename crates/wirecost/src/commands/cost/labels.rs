//! What the labels of rows have in common is said once.

use wirecost_account::{Traffic, Way};

/// What the labels of cells all end with, from behind the stack or from a comma on; empty for one row, and for devices.
pub(super) fn alike(traffic: &[Traffic]) -> &str {
    let is_of_cells = |traffic: &Traffic| traffic.way.is_life() || traffic.way == Way::InCells;
    if !traffic.iter().all(is_of_cells) {
        return "";
    }
    let labels: Vec<&str> = traffic.iter().map(|traffic| traffic.label.as_str()).collect();
    common_end(&labels)
}

/// The text from a comma on, or behind the first word, with which all labels end.
fn common_end<'a>(labels: &[&'a str]) -> &'a str {
    let first = labels.first().copied().unwrap_or_default();
    let behind = |label: &str| label.find(' ').map(|at| label.len() - at);
    let stack = first
        .find(' ')
        .filter(|_| labels.iter().all(|label| behind(label) == behind(first)));
    let commas = first.match_indices(", ").map(|(at, _)| at);
    let mut ends = stack.into_iter().chain(commas).map(|at| &first[at..]);
    let end = ends.find(|end| labels.iter().all(|label| label.ends_with(end)));
    end.unwrap_or_default()
}

/// The label of a row without what all rows end with.
pub(super) fn own_label(traffic: &Traffic, alike: &str) -> String {
    let own = traffic.label.strip_suffix(alike);
    own.unwrap_or(&traffic.label).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_common_end_begins_behind_the_stack_or_at_a_comma() {
        let of = |links: [&str; 2]| {
            let labels = links.map(|link| format!("coap-con cold 64B, {link}, sim"));
            common_end(&labels.each_ref().map(String::as_str)).to_owned()
        };
        assert_eq!(of(["RTT 100 ms", "RTT 100 ms"]), " cold 64B, RTT 100 ms, sim");
        assert_eq!(
            of(["RTT 100 ms, rate 375 kbit/s", "RTT 1 s, rate 62.5 kbit/s"]),
            ", sim"
        );
        assert_eq!(of(["RTT 10 ms, loss 1%", "RTT 1 s, loss 1%"]), ", loss 1%, sim");
        assert_eq!(
            common_end(&["coap-con 64B, sim", "coap-con late 64B, sim"]),
            ", sim"
        );
        assert_eq!(common_end(&["coap-con"]), "");
    }
}
