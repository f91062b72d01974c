//! The JSON Schema of scenarios and docs/scenarios.md say of each option what its row says. `UPDATE_SNAPSHOTS=1` renews both. The pages
//! name each figure of the catalogue. The JSON Schema of devices says what their reader reads.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;
use wirecost_energy::State;
use wirecost_results::catalogue::{Metric, Of};
use wirecost_results::resolved::Tree;
use wirecost_scenario::Kind as ScenarioKind;
use wirecost_scenario::device::shape::{self, DeviceQuantity, DeviceValue, Key};
use wirecost_scenario::edit::{OF_COMPARISONS, OF_LOADS};
use wirecost_scenario::nbiot::DIMENSIONS;
use wirecost_scenario::options::compare::Options;
use wirecost_scenario::options::load::LoadOptions;
use wirecost_scenario::options::nbiot::NbiotOptions;
use wirecost_scenario::options::row::{Kind, Row, Rows};

const END: &str = "\n<!-- The end of the rows -->\n";

/// The line before the rows of a kind of scenario.
fn begin(kind: &str) -> String {
    format!(
        "<!-- Written from the rows of {kind}: UPDATE_SNAPSHOTS=1 cargo test -p wirecost-scenario --test described -->\n\n"
    )
}

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)
}

/// Fails where a file is not as the rows say, or makes it so.
fn compared(name: &str, made: &str) {
    let path = file(name);
    let there = fs::read_to_string(&path).expect(name);
    if there == made {
        return;
    }
    assert!(
        std::env::var_os("UPDATE_SNAPSHOTS").is_some(),
        "{name} is not as the rows say: UPDATE_SNAPSHOTS=1 cargo test -p wirecost-scenario --test described"
    );
    fs::write(&path, made).expect(name);
}

/// What a row says, whatever its options.
struct Described {
    key: &'static str,
    also: Option<&'static str>,
    help: &'static str,
    default: Option<String>,
    kind: Kind,
}

/// The rows that are read by themselves, which alone have a kind.
fn rows<O: Rows>() -> Vec<Described> {
    let described = |row: &Row<O>| {
        // A default that follows from other options is in the text.
        let default = row.default_text().filter(|_| !row.spec.is_default_said);
        Some(Described {
            key: row.written_key(),
            also: row.spec.also.map(|_| row.key),
            help: row.help(),
            default,
            kind: row.kind?,
        })
    };
    O::ROWS.iter().filter_map(described).collect()
}

/// A kind of scenario.
struct Scenarios {
    name: &'static str,
    /// Its definition in the schema.
    definition: &'static str,
    kind: ScenarioKind,
    rows: Vec<Described>,
    /// The keys that can have several values.
    several: &'static [&'static str],
}

fn kinds() -> [Scenarios; 3] {
    [
        Scenarios {
            name: "comparisons",
            definition: "comparison",
            kind: ScenarioKind::Comparison,
            rows: rows::<Options>(),
            several: &OF_COMPARISONS,
        },
        Scenarios {
            name: "loads",
            definition: "load",
            kind: ScenarioKind::Loads,
            rows: rows::<LoadOptions>(),
            several: &OF_LOADS,
        },
        Scenarios {
            name: "reports in NB-IoT cells",
            definition: "nbiot",
            kind: ScenarioKind::Nbiot,
            rows: rows::<NbiotOptions>(),
            several: &DIMENSIONS,
        },
    ]
}

/// The value of a key, which is made where it is missing.
fn within<'a>(tree: &'a mut Tree, key: &str) -> &'a mut Tree {
    let Tree::Table(entries) = tree else {
        panic!("{key} is not in a table");
    };
    let at = entries
        .iter()
        .position(|(name, _)| name == key)
        .unwrap_or_else(|| {
            entries.push((key.to_owned(), Tree::Null));
            entries.len() - 1
        });
    &mut entries[at].1
}

fn property(row: &Described, has_several: bool) -> Tree {
    let default = row
        .default
        .as_deref()
        .map_or_else(String::new, |default| format!(" Default: {default}."));
    let kind = match row.kind {
        Kind::Flag => json!({"type": "boolean"}),
        Kind::Number => json!({"type": "integer", "minimum": 0}),
        Kind::Count => json!({"type": "integer", "minimum": 1}),
        Kind::Scaled => json!({"$ref": "#/$defs/clients"}),
        Kind::Time => json!({"$ref": "#/$defs/time"}),
        Kind::Size => json!({"$ref": "#/$defs/size"}),
        Kind::Text | Kind::File => json!({"type": "string"}),
        Kind::Name(names) => json!({"type": "string", "enum": names}),
    };
    let kind = match has_several {
        true => json!({"oneOf": [kind, {"type": "array", "minItems": 1, "items": kind}]}),
        false => kind,
    };
    let description = Tree::text(format_args!("{}.{default}", row.help));
    let mut entries = vec![("description".to_owned(), description)];
    if let Tree::Table(of_kind) = Tree::of(&kind) {
        entries.extend(of_kind);
    }
    Tree::Table(entries)
}

#[test]
fn the_schema_has_every_row_as_a_property_and_no_other_key() {
    let name = "schema/scenario.schema.json";
    let text = fs::read_to_string(file(name)).expect(name);
    let mut schema: Tree = serde_json::from_str(&text).expect("JSON");
    for Scenarios {
        name,
        definition,
        kind,
        rows,
        several,
    } in kinds()
    {
        let path = ["$defs", definition, "properties"];
        let properties = path.into_iter().fold(&mut schema, |tree, key| within(tree, key));
        for row in &rows {
            for key in [Some(row.key), row.also].into_iter().flatten() {
                *within(properties, key) = property(row, several.contains(&key));
            }
        }
        let keys = wirecost_scenario::all_keys(kind);
        let Tree::Table(entries) = properties else {
            panic!("the properties are no table");
        };
        let described: Vec<&str> = entries.iter().map(|(key, _)| key.as_str()).collect();
        let stale: Vec<&&str> = described.iter().filter(|key| !keys.contains(key)).collect();
        assert_eq!(stale, Vec::<&&str>::new(), "no option of {name} has these keys");
        let missing: Vec<&&str> = keys.iter().filter(|key| !described.contains(key)).collect();
        assert_eq!(
            missing,
            Vec::<&&str>::new(),
            "these keys of {name} are read with others: describe them by hand"
        );
    }
    let made = serde_json::to_string_pretty(&schema).expect("JSON") + "\n";
    compared(name, &made);
}

/// A table of JSON in this order.
fn object<const N: usize>(entries: [(&str, Tree); N]) -> Tree {
    Tree::Table(
        entries
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value))
            .collect(),
    )
}

/// A description, where there is one, and more keys.
fn with_help(help: &str, tree: Tree) -> Tree {
    let description = ("description".to_owned(), Tree::text(help));
    match tree {
        Tree::Table(entries) if !help.is_empty() => {
            Tree::Table(std::iter::once(description).chain(entries).collect())
        }
        other => other,
    }
}

fn of_keys(keys: &[Key]) -> Tree {
    let required: Vec<&str> = keys
        .iter()
        .filter(|key| key.is_required)
        .map(|key| key.name)
        .collect();
    let property = |key: &Key| (key.name.to_owned(), with_help(key.help, of_value(key.value)));
    object([
        ("type", Tree::text("object")),
        ("additionalProperties", Tree::Bool(false)),
        ("required", Tree::of(&required)),
        ("properties", Tree::Table(keys.iter().map(property).collect())),
    ])
}

fn of_value(value: DeviceValue) -> Tree {
    match value {
        DeviceValue::Version => Tree::of(&json!({"const": 1})),
        DeviceValue::Text => Tree::of(&json!({"type": "string"})),
        DeviceValue::Sources => Tree::of(
            &json!({"type": "object", "additionalProperties": {"type": "string", "pattern": "(19|20)[0-9]{2}"}}),
        ),
        DeviceValue::State => Tree::of(&json!({"enum": State::ALL.map(State::name)})),
        DeviceValue::Word(words) => Tree::of(&json!({"enum": words})),
        DeviceValue::Figure(quantity) => Tree::of(&json!({"$ref": format!("#/$defs/{}", quantity.name())})),
        DeviceValue::Table(keys) => of_keys(keys),
        DeviceValue::OneOf(keys) => match of_keys(keys) {
            Tree::Table(mut entries) => {
                entries.push(("minProperties".to_owned(), Tree::number(1)));
                entries.push(("maxProperties".to_owned(), Tree::number(1)));
                Tree::Table(entries)
            }
            other => other,
        },
        DeviceValue::List(keys) => object([("type", Tree::text("array")), ("items", of_keys(keys))]),
    }
}

/// The quantities of some keys.
fn quantities(keys: &[Key], all: &mut BTreeSet<DeviceQuantity>) {
    for key in keys {
        match key.value {
            DeviceValue::Figure(quantity) => {
                all.insert(quantity);
            }
            DeviceValue::Table(keys) | DeviceValue::OneOf(keys) | DeviceValue::List(keys) => {
                quantities(keys, all)
            }
            DeviceValue::Version
            | DeviceValue::Text
            | DeviceValue::Sources
            | DeviceValue::State
            | DeviceValue::Word(_) => {}
        }
    }
}

/// A figure: its quantity alone, or with its source and its spread.
fn figure(quantity: DeviceQuantity) -> Tree {
    let value = quantity.pattern().map_or_else(
        || json!({"type": ["string", "number"]}),
        |pattern| json!({"type": "string", "pattern": pattern}),
    );
    let of = |text: &str| json!({"type": "string", "description": text});
    let source = of("A name of sources, or assumed, which a figure without one is.");
    let mut spread = of(
        "How far the true value may be from it. Without it, 10% for a figure with a source and 30% for an assumed one.",
    );
    spread["pattern"] = json!(r"^[0-9]+(\.[0-9]+)? ?%$");
    let detailed = json!({
        "type": "object", "additionalProperties": false, "required": ["value"],
        "properties": {"value": value, "source": source, "spread": spread},
    });
    Tree::of(&json!({"anyOf": [value, detailed]}))
}

#[test]
fn the_schema_of_devices_has_every_key_that_their_reader_knows() {
    let mut all = BTreeSet::new();
    quantities(shape::FILE, &mut all);
    let figures = all
        .into_iter()
        .map(|quantity| (quantity.name().to_owned(), figure(quantity)));
    let head = object([
        (
            "$schema",
            Tree::text("https://json-schema.org/draft/2020-12/schema"),
        ),
        ("$id", Tree::text("urn:wirecost:device:1")),
        ("title", Tree::text("devices of wirecost, version 1")),
        (
            "description",
            Tree::text(
                "Power states, timers and radio of a device, for wirecost cost --device. A figure names its source, or is an assumed one.",
            ),
        ),
    ]);
    let (Tree::Table(mut entries), Tree::Table(body)) = (head, of_keys(shape::FILE)) else {
        panic!("tables");
    };
    entries.extend(body);
    entries.push(("$defs".to_owned(), Tree::Table(figures.collect())));
    let made = serde_json::to_string_pretty(&Tree::Table(entries)).expect("JSON") + "\n";
    compared("schema/device.schema.json", &made);
}

#[test]
fn the_page_has_a_line_of_each_row() {
    let name = "docs/scenarios.md";
    let mut page = fs::read_to_string(file(name)).expect(name);
    for Scenarios { name, rows, .. } in kinds() {
        let begin = begin(name);
        let (head, rest) = page.split_once(&begin).expect("the beginning of the rows");
        let (_, tail) = rest.split_once(END).expect("the end of the rows");
        let mut table = "| key | meaning | default |\n|---|---|---|\n".to_owned();
        for row in rows {
            let default = row
                .default
                .map_or_else(String::new, |default| format!("`{default}`"));
            let meaning = row.help.replace('|', "\\|");
            table += &format!("| `{}` | {meaning} | {default} |\n", row.key);
        }
        page = format!("{head}{begin}{table}{END}{tail}");
    }
    compared(name, &page);
}

/// The names between backticks in a table of a page: those of its first column.
fn named_in(page: &str, head: &str) -> BTreeSet<String> {
    let text = fs::read_to_string(file(page)).expect(page);
    let (_, table) = text.split_once(head).expect(head);
    let rows = table.lines().take_while(|line| line.starts_with('|'));
    let first = rows.filter_map(|row| row.split('|').nth(1));
    let quoted = first.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    quoted
        .flat_map(|names| names.split(' '))
        .map(str::to_owned)
        .collect()
}

#[test]
fn the_pages_name_every_figure_and_its_column_in_csv_files() {
    let there = named_in("docs/scenarios.md", "| metric | figures | of |\n|---|---|---|\n");
    let names: BTreeSet<String> = Metric::ALL
        .iter()
        .map(|metric| metric.name().to_owned())
        .collect();
    let differing: Vec<&String> = there.symmetric_difference(&names).collect();
    assert_eq!(
        differing,
        Vec::<&String>::new(),
        "in the table of figures in docs/scenarios.md, or in the catalogue, alone"
    );
    let files = [
        (Of::Cells, "\n## summary.csv\n"),
        (Of::Loads, "\n### summary.csv of a load\n"),
        (Of::Points, "\n### summary.csv of a run in NB-IoT cells\n"),
    ];
    let page = fs::read_to_string(file("docs/results-format.md")).expect("the page");
    for (of, heading) in files {
        let (_, section) = page.split_once(heading).expect(heading);
        let section = section.split("\n#").next().unwrap_or_default();
        for (metric, column) in Metric::csv(of) {
            let is_there = section.contains(&format!("`{column}`"));
            assert!(
                is_there,
                "docs/results-format.md lacks {column} of {metric:?} below {heading}; then scripts/tables"
            );
        }
    }
}
