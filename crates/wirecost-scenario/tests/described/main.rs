//! The JSON Schema of scenarios and docs/scenarios.md say of each option what its row says. `UPDATE_SNAPSHOTS=1` renews both. The pages
//! name each figure of the catalogue. The JSON Schema of devices says what their reader reads.

mod schema;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;
use wirecost_results::catalogue::{Metric, Of};
use wirecost_results::resolved::Tree;
use wirecost_scenario::Kind as ScenarioKind;
use wirecost_scenario::edit::{OF_COMPARISONS, OF_LOADS};
use wirecost_scenario::key::{Holds, Key};
use wirecost_scenario::nbiot::DIMENSIONS;
use wirecost_scenario::options::compare::Options;
use wirecost_scenario::options::load::LoadOptions;
use wirecost_scenario::options::nbiot::NbiotOptions;
use wirecost_scenario::options::row::{Row, Rows};
use wirecost_scenario::{budget, device, tariff};

use crate::schema::Writer;

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
#[derive(Clone, Debug)]
pub(crate) struct Described {
    /// Its key in the files that people write.
    pub(crate) key: &'static str,
    /// Its key in the resolved form, where that is another one.
    pub(crate) also: Option<&'static str>,
    pub(crate) help: &'static str,
    pub(crate) default: Option<String>,
    /// What one value of it holds.
    pub(crate) holds: Holds,
    /// Whether it is read by itself.
    pub(crate) is_own: bool,
}

fn rows<O: Rows>() -> Vec<Described> {
    let described = |row: &Row<O>| {
        let is_own = row.kind.is_some();
        // A default that follows from other options is in the text.
        let default = row.default_text().filter(|_| is_own && !row.spec.is_default_said);
        Described {
            key: row.written_key(),
            also: row.spec.also.map(|_| row.key),
            help: row.help(),
            default,
            holds: row.holds,
            is_own,
        }
    };
    O::ROWS.iter().map(described).collect()
}

/// A kind of scenario.
#[derive(Clone, Debug)]
pub(crate) struct Scenarios {
    name: &'static str,
    /// Its definition in the schema.
    pub(crate) definition: &'static str,
    /// What it is.
    pub(crate) help: &'static str,
    pub(crate) kind: ScenarioKind,
    pub(crate) rows: Vec<Described>,
    /// Its keys that are no rows.
    pub(crate) keys: &'static [Key],
    /// The keys that can have several values.
    pub(crate) several: &'static [&'static str],
}

fn kinds() -> [Scenarios; 4] {
    [
        Scenarios {
            name: "comparisons",
            definition: "comparison",
            help: "Stacks side by side on one link.",
            kind: ScenarioKind::Comparison,
            rows: rows::<Options>(),
            keys: &[],
            several: &OF_COMPARISONS,
        },
        Scenarios {
            name: "loads",
            definition: "load",
            help: "Many devices against one target.",
            kind: ScenarioKind::Loads,
            rows: rows::<LoadOptions>(),
            keys: &[],
            several: &OF_LOADS,
        },
        Scenarios {
            name: "reports in NB-IoT cells",
            definition: "nbiot",
            help: "Reports of devices in NB-IoT cells, in virtual time.",
            kind: ScenarioKind::Nbiot,
            rows: rows::<NbiotOptions>(),
            keys: &[],
            several: &DIMENSIONS,
        },
        Scenarios {
            name: "programs",
            definition: "program",
            help: "A program of another maker behind the emulated link, in place of a stack. It runs only with --allow-programs.",
            kind: ScenarioKind::Program,
            rows: Vec::new(),
            keys: wirecost_scenario::program::KEYS,
            several: &[],
        },
    ]
}

/// The value of a key, which is made where it is missing.
pub(crate) fn within<'a>(tree: &'a mut Tree, key: &str) -> &'a mut Tree {
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

#[test]
fn the_schema_of_scenarios_has_every_key_that_their_reader_knows() {
    let name = "schema/scenario.schema.json";
    let text = fs::read_to_string(file(name)).expect(name);
    let mut there: Tree = serde_json::from_str(&text).expect("JSON");
    let network = within(within(&mut there, "$defs"), "network").clone();
    let mut writer = Writer::default();
    for kind in kinds() {
        writer.scenario(kind);
    }
    writer.definitions.push(("network".to_owned(), network));
    let Tree::Table(mut schema) = schema::head(
        "scenario",
        "scenarios",
        "What wirecost run is asked to do. A file with phases (or loads) is a load, one with nbiot is of reports in NB-IoT cells, \
         one with program a program of another maker, one without these a comparison.",
    ) else {
        panic!("a table");
    };
    let of = |definition: &str| json!({"$ref": format!("#/$defs/{definition}")});
    let has = |key: &str| json!({"required": [key]});
    let load =
        json!({"if": {"anyOf": [has("phases"), has("loads")]}, "then": of("load"), "else": of("comparison")});
    let program = json!({"if": has("program"), "then": of("program"), "else": load});
    let kind = json!({"type": "object", "if": has("nbiot"), "then": of("nbiot"), "else": program});
    if let Tree::Table(kind) = Tree::from_value(&kind) {
        schema.extend(kind);
    }
    schema.push(("$defs".to_owned(), Tree::Table(writer.definitions)));
    compared(name, &schema::text_of(&Tree::Table(schema)));
}

#[test]
fn the_schemas_of_budgets_devices_and_tariffs_have_every_key_that_their_readers_know() {
    let device = schema::head(
        "device",
        "devices",
        "Power states, timers and radio of a device, for wirecost cost --device. A figure names its source, or is an assumed one.",
    );
    compared(
        "schema/device.schema.json",
        &schema::of_file(device, device::shape::FILE),
    );
    let budget = schema::head(
        "budget",
        "budgets",
        "What the figures of scenarios, and of a capture, may be, for wirecost budget.",
    );
    compared(
        "schema/budget.schema.json",
        &schema::of_file(budget, budget::FILE),
    );
    let tariff = schema::head(
        "tariff",
        "tariffs",
        "What a data plan or a broker charges, rule by rule. A figure without a source is assumed.",
    );
    compared(
        "schema/tariff.schema.json",
        &schema::of_file(tariff, tariff::shape::FILE),
    );
}

#[test]
fn the_page_has_a_line_of_each_row() {
    let name = "docs/scenarios.md";
    let mut page = fs::read_to_string(file(name)).expect(name);
    for Scenarios { name, rows, .. } in kinds().into_iter().filter(|kind| !kind.rows.is_empty()) {
        let begin = begin(name);
        let (head, rest) = page.split_once(&begin).expect("the beginning of the rows");
        let (_, tail) = rest.split_once(END).expect("the end of the rows");
        let mut table = "| key | meaning | default |\n|---|---|---|\n".to_owned();
        for row in rows.into_iter().filter(|row| row.is_own) {
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
