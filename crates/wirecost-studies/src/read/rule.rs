//! The rule of a claim as a hash, by which a kept verdict is known to be one by this rule.

use wirecost_proto::random::key_of;
use wirecost_scenario::node::{Node, Value};

use super::CLAIM_KEYS;
use crate::claims::List;

/// Keys that say what is judged in words, whose numbers are compared as they are published, or that hold a verdict against another one.
const NO_RULE: [&str; 6] = ["id", "says", "where", "published", "no_other_reading", "expect"];
/// Keys whose texts are words: that they are there decides.
const SAID: [&str; 2] = ["lacks", "measured"];
/// Keys with lists of tables that have a `name` for the reader.
const NAMED: [&str; 2] = ["readings", "suspects"];

/// A hash of all in a claim that its verdict follows from, beside the published numbers: the list that it is in, what is measured,
/// tolerances, bounds, readings, suspects, and whether something is left out. Of the file's text and not of the types in memory, which
/// another version may have in another form.
pub(super) fn rule(claim: &Node, list: List) -> String {
    let mut text = list.key().to_owned();
    let keys = CLAIM_KEYS.into_iter().filter(|key| !NO_RULE.contains(key));
    for (key, node) in keys.filter_map(|key| Some((key, claim.get(key)?))) {
        push(&mut text, key);
        if !SAID.contains(&key) {
            append(&mut text, node, NAMED.contains(&key));
        }
    }
    format!("{:016x}", key_of(&text))
}

/// Appends a value in one form only. Tables that `are_named` lose their name.
fn append(text: &mut String, node: &Node, are_named: bool) {
    match &node.value {
        Value::Null => text.push('~'),
        Value::Bool(value) => push(text, &value.to_string()),
        Value::Number(value) | Value::Text(value) => push(text, value),
        Value::List(nodes) => {
            text.push('[');
            nodes.iter().for_each(|node| append(text, node, are_named));
            text.push(']');
        }
        Value::Table(entries) => {
            text.push('{');
            for (key, node) in entries.iter().filter(|(key, _)| !are_named || key.name != "name") {
                push(text, &key.name);
                append(text, node, false);
            }
            text.push('}');
        }
    }
}

/// Appends a text after its length, so that no two lists of texts are the same.
fn push(text: &mut String, word: &str) {
    text.push_str(&word.len().to_string());
    text.push(':');
    text.push_str(word);
}

#[cfg(test)]
mod tests {
    use crate::claims::Claims;

    /// The rule of a claim with this in it.
    fn rule(claim: &str) -> String {
        let text =
            format!("wirecost: 1\nstudy: test\nsource: a paper\nclaims:\n- {{id: A, says: a, {claim}}}\n");
        let mut claims = Claims::read(&text).expect("claims").claims;
        claims.remove(0).rule
    }

    const SUM: &str = "published: 3 B, arithmetic: 1 B + 2 B";

    #[test]
    fn the_rule_of_a_claim_is_the_same_in_each_version() {
        // In kept files: another hash would refuse all of them.
        assert_eq!(rule(SUM), "8d94a3a8a783cacc");
    }

    #[test]
    fn another_formula_tolerance_or_bound_is_another_rule() {
        let variants = [
            "published: 3 B, arithmetic: 2 B + 1 B",
            "published: 3 B, arithmetic: 1 B + 2 B, within: 0.1%",
            "published: 3 B, arithmetic: 1 B + 2 B, within: 20%",
            "published: 3 B, arithmetic: 1 B + 2 B, bound: {least: 2 B}",
            "published: 3 B, arithmetic: 1 B + 2 B, bound: {most: 2 B}",
            "published: 3 B, arithmetic: 1 B + 2 B, lacks: [a load]",
            "published: 3 B, arithmetic: 1 B + 2 B, measured: by a clamp",
            "published: 3 B, readings: [{name: a, arithmetic: 1 B + 2 B}]",
            "published: 3 B, readings: [{name: a, arithmetic: 1 B + 2 B}, {name: b, arithmetic: 4 B}]",
            SUM,
        ];
        let rules: std::collections::BTreeSet<String> = variants.into_iter().map(rule).collect();
        assert_eq!(rules.len(), variants.len());
    }

    #[test]
    fn other_words_are_the_same_rule() {
        for (one, other) in [
            (SUM, "where: on page 3, published: 3 B, arithmetic: 1 B + 2 B"),
            (
                SUM,
                "published: 3 B, expect: reproduced, arithmetic: \"1 B + 2 B\"",
            ),
            (
                SUM,
                "arithmetic: 1 B + 2 B, published: 3 B, no_other_reading: it is a sum",
            ),
            (
                "published: 3 B, arithmetic: 1 B + 2 B, lacks: [a load], measured: by a clamp",
                "published: 3 B, arithmetic: 1 B + 2 B, lacks: [the load], measured: by a meter",
            ),
            (
                "published: 3 B, readings: [{name: a, arithmetic: 1 B + 2 B}]",
                "published: 3 B, readings: [{name: with the header, arithmetic: 1 B + 2 B}]",
            ),
        ] {
            assert_eq!(rule(one), rule(other), "{other}");
        }
    }
}
