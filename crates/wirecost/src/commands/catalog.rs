//! `wirecost links`, `devices` and `tariffs`: lists the files with names, shows one with its sources, writes one to start from.

mod examples;
mod kinds;

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use serde_json::Value;
use wirecost_files::output::{Existing, PUBLIC, own as file_to_write};
use wirecost_report::terminal::listing::{Head, Listing};

use crate::arguments::{CatalogArguments, TariffsArguments};
use crate::exit::{self, Failure};
use crate::output;
pub use kinds::{DEVICES, LINKS, TARIFFS};

/// One kind of files with names.
pub struct Kind {
    /// The command: `links`.
    command: &'static str,
    /// The option that takes such a file.
    option: &'static str,
    /// The headings of the list: the first and the last column are text.
    heads: &'static [&'static str],
    /// What is before the list's last line.
    note: &'static str,
    names: fn() -> Vec<&'static str>,
    entry: fn(&str) -> Result<Entry, Failure>,
}

impl Kind {
    /// Whether an option, or the argument of a command, takes such a file.
    pub fn is_of(&self, command: &str, option: Option<&str>) -> bool {
        option.map_or(command == self.command, |option| {
            self.option.strip_prefix("--") == Some(option)
        })
    }

    /// The names of the files.
    pub fn names(&self) -> Vec<&'static str> {
        (self.names)()
    }
}

/// A file with a name.
pub struct Entry {
    /// The file as it is.
    text: String,
    /// Its line of the list.
    row: Vec<String>,
    /// What it says, with the source of every figure.
    json: Value,
}

/// Runs the command of a kind.
pub fn run(kind: &Kind, arguments: &CatalogArguments) -> Result<ExitCode, Failure> {
    let path = arguments.json.as_deref();
    let Some(name) = &arguments.name else {
        let names = kind.names();
        let entries: Vec<Entry> = names.into_iter().map(kind.entry).collect::<Result<_, _>>()?;
        let list = || {
            let values: Vec<&Value> = entries.iter().map(|entry| &entry.json).collect();
            serde_json::to_string_pretty(&values)
        };
        output::table_or_json(path, list, || table(kind, &entries))?;
        return Ok(ExitCode::from(exit::OK));
    };
    let entry = (kind.entry)(name)?;
    if let Some(out) = arguments.out.as_deref().filter(|out| !output::is_stdout(out)) {
        write(kind, out, &entry.text)?;
    } else {
        let json = || serde_json::to_string_pretty(&entry.json);
        output::table_or_json(path, json, || entry.text.clone())?;
    }
    Ok(ExitCode::from(exit::OK))
}

/// Runs `tariffs`.
pub fn tariffs(arguments: &TariffsArguments) -> Result<ExitCode, Failure> {
    match arguments.catalog.name.as_deref().filter(|_| arguments.examples) {
        Some(name) => examples::run(name, arguments.catalog.json.as_deref()),
        None => run(&TARIFFS, &arguments.catalog),
    }
}

/// Writes the file to start from.
fn write(kind: &Kind, path: &Path, text: &str) -> Result<(), Failure> {
    let created = file_to_write(path, Existing::Refused, PUBLIC);
    let created = created.and_then(|mut file| Ok(file.write_all(text.as_bytes())?));
    created.map_err(|error| output::unwritable("--out", path, &error))?;
    let shown = path.display().to_string();
    let folder = if shown.contains(['/', '.']) { "" } else { "./" };
    output::note(format_args!(
        "wrote {shown}; use it: {} {folder}{shown}",
        kind.option
    ));
    Ok(())
}

/// One line for each file.
fn table(kind: &Kind, entries: &[Entry]) -> String {
    let last = kind.heads.len() - 1;
    let heads = kind.heads.iter().enumerate().map(|(column, head)| match column {
        0 => Head::name(*head),
        column if column == last => Head::remark(*head),
        _ => Head::figure(*head),
    });
    let listing = Listing {
        heads: heads.collect(),
        rows: entries.iter().map(|entry| entry.row.clone()).collect(),
    };
    let text = listing.draw(output::width(), "--json");
    let command = kind.command;
    format!(
        "{text}\n{}wirecost {command} NAME shows one with the source of every figure; --out FILE writes it to start from\n",
        kind.note
    )
}
