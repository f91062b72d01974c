//! Changes to a scenario after it was read: its own `vary`, and the flags `--set` and `--vary`.

use super::error::{Place, ScenarioError};
use super::link;
use super::node::{Key, Node, Value};
use super::table::meant;

/// The keys that can have several values in a comparison.
pub const OF_COMPARISONS: [&str; 12] = [
    "stack",
    "start",
    "size",
    "readings",
    "encoding",
    "compression",
    "interval",
    "messages_per_connection",
    "link.rtt",
    "link.loss",
    "link.rate",
    "link.mtu",
];
/// The keys that can have several values in loads. The value of the last key changes first.
pub const OF_LOADS: [&str; 15] = [
    "stack",
    "start",
    "target",
    "size",
    "readings",
    "encoding",
    "compression",
    "link.rtt",
    "link.loss",
    "link.rate",
    "link.mtu",
    "resource",
    "inflight",
    "clients",
    "rate",
];

/// The name of the link: it can vary, but conditions cannot name it, because a cell keeps the values of its link alone.
const LINK_NAME: &str = "link.name";

/// The keys that can have several values where `dimensions` can be conditions.
pub fn varied(dimensions: &[&'static str]) -> Vec<&'static str> {
    std::iter::once(LINK_NAME)
        .chain(dimensions.iter().copied())
        .collect()
}

/// The key that a user means: `link` by itself is its name.
fn spelled_out(key: &str) -> &str {
    if key == "link" { LINK_NAME } else { key }
}

/// Moves the lists in `vary` to their keys.
///
/// # Errors
/// A key cannot vary, its value is not a list, or the key is also given by itself.
pub fn vary(root: &mut Node, dimensions: &[&'static str]) -> Result<(), ScenarioError> {
    let Some(vary) = remove(root, "vary") else {
        return Ok(());
    };
    let Value::Table(entries) = vary.value else {
        let message = format!(
            "vary: a table of keys with lists is expected, this is {}",
            vary.kind()
        );
        return Err(ScenarioError::new(&vary.place, message));
    };
    for (key, node) in entries {
        let path = spelled_out(&key.name);
        known(path, &key.place, dimensions)?;
        if !matches!(node.value, Value::List(_)) {
            let message = format!("vary.{}: a list is expected, this is {}", key.name, node.kind());
            return Err(ScenarioError::new(&node.place, message));
        }
        // Which of both was meant cannot be told, and the wrong guess would run other cells than the user sees.
        if get(root, path).is_some() {
            let message = format!("{} is given twice: under vary and by itself", key.name);
            return Err(ScenarioError::new(&key.place, message));
        }
        set(root, path, node)?;
    }
    Ok(())
}

fn known(key: &str, place: &Place, dimensions: &[&'static str]) -> Result<(), ScenarioError> {
    if varied(dimensions).contains(&key) {
        return Ok(());
    }
    let own = dimensions
        .iter()
        .find(|name| name.strip_prefix("link.") == Some(key));
    let hint = own.map_or_else(
        || meant(key, dimensions),
        |name| format!("did you mean {name:?}?"),
    );
    Err(ScenarioError::new(place, format!("cannot vary {key:?}")).with_hint(hint))
}

/// Applies `--set KEY=VALUE`: the value is YAML and replaces the value of the file.
///
/// # Errors
/// There is no `=`, the value is not YAML, or the path leads through a value that is not a table.
pub fn set_flag(root: &mut Node, text: &str) -> Result<(), ScenarioError> {
    let (key, value, place) = flag("--set", text)?;
    let mut node = Node::parse(value).map_err(|error| ScenarioError::new(&place, error.message()))?;
    if key == "link" {
        link::spelled_out(&mut node);
    }
    stand(&mut node, &place);
    replace(root, &key, node)
}

/// Applies `--vary KEY=V1,V2,...`: the values replace the value of the file.
///
/// # Errors
/// There is no `=`, or the key cannot vary.
pub fn vary_flag(root: &mut Node, text: &str, dimensions: &[&'static str]) -> Result<(), ScenarioError> {
    let (key, values, place) = flag("--vary", text)?;
    let key = spelled_out(&key);
    known(key, &place, dimensions)?;
    let values = values
        .split(',')
        .map(|value| Node::at(&place, Value::Text(value.trim().to_owned())));
    let list = Node::at(&place, Value::List(values.collect()));
    replace(root, key, list)
}

fn flag<'a>(name: &str, text: &'a str) -> Result<(String, &'a str, Place), ScenarioError> {
    let place = Place::Flag(format!("{name} {text}").into());
    match text.split_once('=') {
        Some((key, value)) => Ok((spelled(key.trim()), value.trim(), place)),
        None => Err(ScenarioError::new(&place, "KEY=VALUE is expected")
            .with_hint(format!("for example {name} link.rtt=100ms"))),
    }
}

/// A key of a flag as in a file. A dash is an underscore there, but not in the names of links between sites.
fn spelled(key: &str) -> String {
    match key.strip_prefix("links.") {
        Some(link) => {
            let (name, rest) = link
                .split_once('.')
                .map_or((link, None), |(name, rest)| (name, Some(rest)));
            let rest = rest.map_or_else(String::new, |rest| format!(".{}", rest.replace('-', "_")));
            format!("links.{name}{rest}")
        }
        None => key.replace('-', "_"),
    }
}

/// Marks a value, and every value in it, as given by a flag.
fn stand(node: &mut Node, place: &Place) {
    node.place = place.clone();
    match &mut node.value {
        Value::List(nodes) => nodes.iter_mut().for_each(|node| stand(node, place)),
        Value::Table(entries) => {
            for (key, node) in entries {
                key.place = place.clone();
                stand(node, place);
            }
        }
        _ => {}
    }
}

/// Replaces the value of a key, and removes the key from `vary`.
fn replace(root: &mut Node, key: &str, node: Node) -> Result<(), ScenarioError> {
    if let Some(Value::Table(varied)) = root.get_mut("vary").map(|vary| &mut vary.value) {
        varied.retain(|(other, _)| other.name != key);
    }
    set(root, key, node)
}

/// The value at a path of keys separated by dots.
pub fn get<'a>(root: &'a Node, path: &str) -> Option<&'a Node> {
    path.split('.').try_fold(root, |node, key| node.get(key))
}

/// Sets the value at a path of keys separated by dots. Missing tables are created.
///
/// # Errors
/// The path leads through a value that is not a table.
pub fn set(root: &mut Node, path: &str, node: Node) -> Result<(), ScenarioError> {
    let place = node.place.clone();
    let mut at = root;
    for key in path.split('.') {
        // A key without a value, as in `link:`, is where a table may be made.
        if at.value == Value::Null {
            at.value = Value::Table(Vec::new());
        }
        let kind = at.kind();
        let Value::Table(entries) = &mut at.value else {
            return Err(ScenarioError::new(
                &place,
                format!("{path}: {key} would be in {kind}, not in a table"),
            ));
        };
        let index = entries
            .iter()
            .position(|(name, _)| name.name == key)
            .unwrap_or(entries.len());
        if index == entries.len() {
            let name = Key {
                place: place.clone(),
                name: key.to_owned(),
            };
            entries.push((name, Node::at(&place, Value::Null)));
        }
        at = &mut entries[index].1;
    }
    *at = node;
    Ok(())
}

/// Removes a key from a table.
pub fn remove(root: &mut Node, key: &str) -> Option<Node> {
    let Value::Table(entries) = &mut root.value else {
        return None;
    };
    let index = entries.iter().position(|(name, _)| name.name == key)?;
    Some(entries.remove(index).1)
}

/// Every combination of the lists at some paths, in the order of the paths; the last one changes first.
///
/// # Errors
/// A list is empty, or there are more combinations than [`MAX_COMBINATIONS`].
pub fn combinations(root: &Node, paths: &[&'static str]) -> Result<Vec<Node>, ScenarioError> {
    let mut all = vec![root.clone()];
    for path in paths {
        let Some(node) = get(root, path) else { continue };
        let Value::List(values) = &node.value else {
            continue;
        };
        if values.is_empty() {
            return Err(ScenarioError::new(
                &node.place,
                format!("{path}: the list is empty"),
            ));
        }
        let count = all.len() * values.len();
        // Every combination is a copy of the file: a thousand of a large one would fill the memory.
        if count > MAX_COMBINATIONS || count * root.weight() > MAX_WEIGHT {
            let message = format!("{path}: {count} combinations are more than one scenario can have");
            return Err(ScenarioError::new(&node.place, message));
        }
        let mut more = Vec::with_capacity(all.len() * values.len());
        for one in &all {
            for value in values {
                let mut one = one.clone();
                set(&mut one, path, value.clone())?;
                more.push(one);
            }
        }
        all = more;
    }
    Ok(all)
}

/// The most loads of one scenario.
pub const MAX_COMBINATIONS: usize = 1_000;
/// The most bytes that all combinations together may take.
pub const MAX_WEIGHT: usize = 64 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn node(text: &str) -> Node {
        Node::parse(text).expect("YAML")
    }

    #[test]
    fn a_flag_takes_the_place_of_what_the_file_says() {
        let mut root = node("link: {rtt: 1ms}\nvary: {size: [1B, 2B]}\n");
        set_flag(&mut root, "link.rtt=100ms").expect("a value");
        set_flag(&mut root, "size=3B").expect("a value");
        vary_flag(&mut root, "link.loss=0%,5%", &OF_COMPARISONS).expect("values");
        vary(&mut root, &OF_COMPARISONS).expect("nothing twice");
        assert_eq!(
            get(&root, "link.rtt").and_then(Node::scalar).as_deref(),
            Some("100ms")
        );
        assert_eq!(get(&root, "size").and_then(Node::scalar).as_deref(), Some("3B"));
        assert!(
            matches!(get(&root, "link.loss").map(|node| &node.value), Some(Value::List(list)) if list.len() == 2)
        );
    }

    #[test]
    fn errors_of_vary_have_their_line() {
        for (text, expected, hint) in [
            (
                "vary:\n  sizes: [1B]\n",
                "line 2: cannot vary \"sizes\"",
                "did you mean \"size\"?",
            ),
            (
                "vary:\n  rtt: [1ms]\n",
                "line 2: cannot vary \"rtt\"",
                "did you mean \"link.rtt\"?",
            ),
            (
                "vary: {size: 1B}\n",
                "line 1: vary.size: a list is expected, this is a text",
                "",
            ),
            (
                "size: 1B\nvary:\n  size: [1B]\n",
                "line 3: size is given twice: under vary and by itself",
                "",
            ),
            (
                "vary: 1\n",
                "line 1: vary: a table of keys with lists is expected, this is a number",
                "",
            ),
        ] {
            let error = vary(&mut node(text), &OF_COMPARISONS).expect_err(text);
            assert_eq!(
                (error.to_string().as_str(), error.hint().unwrap_or_default()),
                (expected, hint)
            );
        }
        let error = set_flag(&mut node("a: 1"), "a.b=1")
            .expect_err("no table")
            .to_string();
        assert_eq!(error, "--set a.b=1: a.b: b would be in a number, not in a table");
    }

    #[test]
    fn combinations_are_complete_and_the_last_path_changes_first() {
        let root = node("a: [1, 2]\nb: {c: [3, 4, 5]}\n");
        let all = combinations(&root, &["a", "b.c"]).expect("combinations");
        let texts = |node: &Node| {
            ["a", "b.c"]
                .map(|path| get(node, path).and_then(Node::scalar).unwrap_or_default())
                .concat()
        };
        let all: Vec<String> = all.iter().map(texts).collect();
        assert_eq!(all, ["13", "14", "15", "23", "24", "25"]);
    }
}
