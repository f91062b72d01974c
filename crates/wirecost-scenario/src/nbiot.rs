//! The keys of reports in NB-IoT cells in a scenario, and how they are read and written.

use crate::edit;
use crate::error::{Place, ScenarioError};
use crate::node::{Node, Value};
use crate::options::nbiot::{DEFAULT_PROFILE, MAX_POINTS, NbiotOptions, PROFILE, VariedParameter};
use crate::options::row;
use crate::parameter::{self, ParameterError};
use crate::table::{Table, ValueError, meant, parsed, rate, set, time};

/// The keys that can have several values, beside the parameters of the network.
pub const DIMENSIONS: [&str; 3] = ["stack", "size", "load"];

/// The dimensions of points: conditions can name them.
pub fn dimensions() -> Vec<&'static str> {
    let own = DIMENSIONS.into_iter().chain(["what_if"]);
    own.chain(parameter::paths().iter().map(String::as_str)).collect()
}

/// The key of a parameter in a file, for a key that may be without its first part: `nbiot.levels.ce0.npdcch_g`.
pub fn spelled_out(key: &str) -> String {
    let group = key.split(['.', '=']).next().unwrap_or_default();
    let has_group = |path: &String| path.split('.').next() == Some(group);
    match parameter::paths().iter().any(has_group) {
        true => format!("nbiot.{key}"),
        false => key.to_owned(),
    }
}

/// Takes the parameters of the network out of `vary` and of the flags `--vary`; what is left varies other keys.
///
/// # Errors
/// There is no such parameter, its values are no list, or it is also given by itself.
pub fn take_varied(root: &mut Node, flags: &mut Vec<String>) -> Result<Vec<VariedParameter>, ScenarioError> {
    let mut varied = Vec::new();
    let mut kept = Vec::new();
    for flag in std::mem::take(flags) {
        let Some((key, values)) = flag.split_once('=').filter(|(key, _)| is_parameter(key)) else {
            kept.push(flag);
            continue;
        };
        let place = Place::Flag(format!("--vary {flag}").into());
        let one = VariedParameter::new(key.trim(), split_values(values));
        let one = one.map_err(|error| at(&place, &error))?;
        // A flag stands instead of the same key of the file, given or varied.
        forget(root, one.path);
        varied.push(one);
    }
    *flags = kept;
    let Some(Value::Table(entries)) = root.get_mut("vary").map(|vary| &mut vary.value) else {
        return Ok(varied);
    };
    let (parameters, others) = std::mem::take(entries)
        .into_iter()
        .partition::<Vec<_>, _>(|(key, _)| is_parameter(&key.name));
    *entries = others;
    for (key, node) in parameters {
        let Value::List(list) = &node.value else {
            let message = format!("vary.{}: a list is expected, this is {}", key.name, node.kind());
            return Err(ScenarioError::new(&node.place, message));
        };
        let values = list.iter().map(json_of).collect::<Option<Vec<String>>>();
        let values = values.filter(|values| !values.is_empty()).ok_or_else(|| {
            let message = format!("vary.{}: a list of values is expected", key.name);
            ScenarioError::new(&node.place, message)
        })?;
        let one = VariedParameter::new(&key.name, values).map_err(|error| at(&key.place, &error))?;
        // The flag `--vary` of the same parameter was first, and stands instead of the file.
        if varied.iter().any(|other| other.path == one.path) {
            continue;
        }
        if edit::get(root, &format!("nbiot.{}", one.path)).is_some() {
            let message = format!("{} is given twice: under vary and by itself", key.name);
            return Err(ScenarioError::new(&key.place, message));
        }
        varied.push(one);
    }
    Ok(varied)
}

/// Whether a key of `vary` can only mean a parameter of the network.
fn is_parameter(key: &str) -> bool {
    let key = key.trim();
    key.starts_with("nbiot.") || spelled_out(key) != key
}

/// Removes a parameter that a flag varies from the file's values.
fn forget(root: &mut Node, path: &str) {
    let Some((group, name)) = path.rsplit_once('.') else {
        return;
    };
    let mut place = root.get_mut("nbiot");
    for part in group.split('.') {
        place = place.and_then(|node| node.get_mut(part));
    }
    if let Some(Value::Table(entries)) = place.map(|node| &mut node.value) {
        entries.retain(|(key, _)| key.name != name);
    }
    // A flag stands above the file, also where the file varies the same parameter.
    if let Some(Value::Table(entries)) = root.get_mut("vary").map(|vary| &mut vary.value) {
        entries.retain(|(key, _)| key.name.trim_start_matches("nbiot.") != path);
    }
}

/// Values separated by commas; commas within brackets separate none.
pub fn split_values(text: &str) -> Vec<String> {
    let (mut values, mut depth) = (vec![String::new()], 0_usize);
    for letter in text.chars() {
        match letter {
            '[' => depth += 1,
            // A bracket too many is an error of the value, which says it better than a panic.
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if letter == ',' && depth == 0 {
            values.push(String::new());
        } else if let Some(last) = values.last_mut() {
            last.push(letter);
        }
    }
    values.into_iter().map(|value| value.trim().to_owned()).collect()
}

/// Reads a load: reports per second and cell.
///
/// # Errors
/// It is not a rate above 0.
pub fn load(text: &str) -> Result<f64, ValueError> {
    let allowed = "a load: write 0.5/s or 30/min, above 0/s and at most 40/s per cell";
    rate(text).map_err(|_| ValueError::form(text, allowed))
}

/// Reads what is run in the cells.
///
/// # Errors
/// A key is unknown, or has no value that it can have.
pub fn read(root: &Node, varied: Vec<VariedParameter>) -> Result<NbiotOptions, ScenarioError> {
    let table = Table::new(root, "", &row::keys::<NbiotOptions>())?;
    let mut options = network(&table)?;
    options.varied = varied;
    let filled = |list: Vec<_>| (!list.is_empty()).then_some(list);
    set(&mut options.sizes, filled(table.many("size", parsed)?));
    let (stacks, loads) = (table.many("stack", parsed)?, table.many("load", load)?);
    set(&mut options.stacks, (!stacks.is_empty()).then_some(stacks));
    set(&mut options.loads, (!loads.is_empty()).then_some(loads));
    row::read(&table, &mut options)?;
    options.warm_up = table.one("warm_up", time)?;
    options.what_ifs = table.many("what_if", parsed)?;
    // Both together would multiply to thousands of points, of which nobody could say what each shows.
    if options.sensitivity && !(options.varied.is_empty() && options.what_ifs.is_empty()) {
        return Err(table.error(
            "sensitivity",
            "it varies the network itself: leave out what_if and the parameters under vary",
        ));
    }
    options.validate().map_err(|refusal| refusal.in_file(root))?;
    let networks = options.networks();
    // Each network is tried before anything runs: one that cannot be would otherwise end a run of hours.
    networks.map_err(|error| at(&place_of(root, &error), &error))?;
    let points = options.points();
    if points > MAX_POINTS {
        let message = format!("there are {points} points, more than {MAX_POINTS}: shorten the lists");
        return Err(ScenarioError::new(&Place::File, message));
    }
    Ok(options)
}

/// The grid of the study in the network of the key `nbiot`.
fn network(table: &Table<'_>) -> Result<NbiotOptions, ScenarioError> {
    let study =
        |place: &Place, profile: &str| NbiotOptions::study(profile).map_err(|error| at(place, &error));
    let Some(node) = table.get("nbiot") else {
        return study(&Place::File, DEFAULT_PROFILE);
    };
    if let Value::Text(profile) = &node.value {
        return study(&node.place, profile);
    }
    let Some(entries) = node.entries() else {
        let message = format!(
            "nbiot: a profile or a table of parameters is expected, this is {}",
            node.kind()
        );
        return Err(ScenarioError::new(&node.place, message).with_hint("for example nbiot: study"));
    };
    let profile = node.get(PROFILE);
    let name = profile.map_or(Some(DEFAULT_PROFILE.to_owned()), Node::scalar);
    let place = &profile.unwrap_or(node).place;
    let mut options = study(place, &name.unwrap_or_default())?;
    for (key, node) in entries.iter().filter(|(key, _)| key.name != PROFILE) {
        set_below(&mut options, &key.name, &key.place, node)?;
    }
    Ok(options)
}

/// Sets every parameter at and below a path.
fn set_below(
    options: &mut NbiotOptions,
    path: &str,
    place: &Place,
    node: &Node,
) -> Result<(), ScenarioError> {
    if let Some(entries) = node.entries() {
        return entries.iter().try_for_each(|(key, node)| {
            set_below(options, &format!("{path}.{}", key.name), &key.place, node)
        });
    }
    let value = json_of(node).ok_or_else(|| {
        let message = format!("nbiot.{path}: a value is expected, this is {}", node.kind());
        ScenarioError::new(&node.place, message)
    })?;
    options.network = parameter::set(&options.network, path, &value).map_err(|error| match error {
        // The fault is in the name here, and in the value below: each has its own line.
        ParameterError::Unknown { .. } => at(place, &error),
        error => at(&node.place, &error),
    })?;
    Ok(())
}

/// A value as [`parameter::set`] reads it; `None` for a table.
fn json_of(node: &Node) -> Option<String> {
    match &node.value {
        Value::Null => Some("null".into()),
        Value::List(list) => {
            let items = list
                .iter()
                .map(|item| serde_json::to_string(&item.scalar()?).ok());
            Some(format!("[{}]", items.collect::<Option<Vec<String>>>()?.join(",")))
        }
        _ => node.scalar(),
    }
}

/// Where the parameter that an error names is given; the file where it is not.
fn place_of(root: &Node, error: &ParameterError) -> Place {
    let text = error.to_string();
    let given = root.get("nbiot").map_or_else(Vec::new, |node| leaves("", node));
    let named = given
        .into_iter()
        .find(|(path, _)| !path.is_empty() && text.contains(path));
    named.map_or(Place::File, |(_, place)| place.clone())
}

/// The values at and below a path, with their paths.
fn leaves<'a>(path: &str, node: &'a Node) -> Vec<(String, &'a Place)> {
    let Some(entries) = node.entries() else {
        return vec![(path.to_owned(), &node.place)];
    };
    let below = |name: &str| match path.is_empty() {
        true => name.to_owned(),
        false => format!("{path}.{name}"),
    };
    let each = entries.iter().filter(|(key, _)| key.name != PROFILE);
    each.flat_map(|(key, node)| leaves(&below(&key.name), node))
        .collect()
}

fn at(place: &Place, error: &ParameterError) -> ScenarioError {
    let hint = match error {
        ParameterError::Profile { .. } => {
            meant("", &wirecost_nbiot::Config::PROFILES).replace("keys", "profiles")
        }
        _ => "docs/models/nbiot.md lists the parameters of the network with their units".into(),
    };
    ScenarioError::new(place, error.to_string()).with_hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::ScenarioInputs;
    use crate::{Edits, Scenario, Work};

    const TEXT: &str = "wirecost: 1\nname: cells\nnbiot:\n  profile: vodafone\n  levels: {ce0: {npdcch_rmax: 16}}\n\
        stack: [coap-con, mqtt-qos1]\nsize: 48B\nload: [1/s, 2/s]\nseeds: 2\nwhat_if: edt\n\
        vary:\n  nbiot.levels.ce0.npdcch_g: [2, 4]\nthresholds:\n  served{load=1/s,what_if=none}: [\"rate>=95%\"]\n";

    fn read_with(text: &str, edits: Edits<'_>) -> Result<(Scenario, NbiotOptions), String> {
        let scenario =
            Scenario::read(text, edits, ScenarioInputs::NONE).map_err(|error| error.to_string())?;
        match &scenario.work {
            Work::Nbiot(options) => Ok((scenario.clone(), (**options).clone())),
            other => Err(format!("another kind: {other:?}")),
        }
    }

    #[test]
    fn a_scenario_of_cells_reads_back_as_the_same() {
        let (scenario, options) = read_with(TEXT, Edits::default()).expect("a scenario");
        assert_eq!(options.points(), 2 * 2 * 2 * 2);
        assert_eq!(options.network.levels.ce0.npdcch_rmax, 16);
        assert_eq!(options.labels().expect("labels").len(), 16);
        assert_eq!(options.networks().expect("networks").len(), 2);
        let yaml = scenario.to_yaml();
        let (again, resolved) =
            read_with(&yaml, Edits::default()).unwrap_or_else(|error| panic!("{error}\n{yaml}"));
        assert_eq!(again.to_yaml(), yaml);
        assert_eq!(
            (resolved.networks(), resolved.labels()),
            (options.networks(), options.labels())
        );
        assert_eq!(again.thresholds, scenario.thresholds);
    }

    #[test]
    fn flags_set_and_vary_parameters_of_the_network() {
        let (set, vary) = (
            ["rrc.flow=setup".to_owned(), "seeds=5".to_owned()],
            ["levels.ce0.npdcch_g=1.5,8,16".to_owned(), "load=1/s".to_owned()],
        );
        let edits = Edits {
            set: &set,
            vary: &vary,
        };
        let (_, options) = read_with(TEXT, edits).expect("a scenario");
        assert_eq!(options.varied.len(), 1);
        assert_eq!(options.varied[0].values, ["1.5", "8", "16"]);
        assert_eq!((options.seeds, options.loads.as_slice()), (5, &[1.0][..]));
    }

    #[test]
    fn mistakes_have_their_line_and_what_is_allowed() {
        for (text, expected) in [
            (
                "nbiot: {levels: {ce0: {npdcch_rmax: 12}}}\n",
                "line 2: levels.ce0.npdcch_rmax must be one of 1, 2, 4, 8,",
            ),
            (
                "nbiot:\n  levelz: {ce0: 1}\n",
                "line 3: no parameter is called levelz.ce0: levelz must be one of",
            ),
            (
                "nbiot: studdy\n",
                "line 2: profile must be one of vodafone, study, got studdy (did you mean study?)",
            ),
            (
                "nbiot: study\nload: -1/s\n",
                "line 3: load: \"-1/s\" is not a load: write 0.5/s or 30/min, above 0/s and at most 40/s per cell",
            ),
            ("nbiot: study\nphase: 1\n", "line 3: unknown key \"phase\""),
            (
                "nbiot: study\nthresholds: {served: [\"rate>=95\"]}\n",
                "line 3: thresholds: served: ",
            ),
            (
                "nbiot: study\nthresholds: {\"served{load=9/s}\": [\"rate>=95%\"]}\n",
                "line 3: thresholds: served{load=9/s}: nothing of this run is {load=9/s}",
            ),
            (
                "nbiot: study\nvary: {nbiot.levels.ce0.npdcch_gg: [1]}\n",
                "line 3: no parameter is called",
            ),
        ] {
            let text = format!("wirecost: 1\n{text}");
            let error = read_with(&text, Edits::default()).expect_err(&text);
            assert!(error.starts_with(expected), "{text}: {error}");
        }
    }
}
