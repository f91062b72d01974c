//! `wirecost new`, a scenario to start from, and `wirecost schema`, which lets editors check scenarios.

use std::io::Write as _;
use std::process::ExitCode;

use wirecost_files::output::{Existing, PUBLIC, own as file_to_write};

use crate::arguments::{NewArguments, NewKind, SchemaArguments, SchemaKind};
use crate::exit::Failure;
use crate::output;

const COMPARISON: &str = include_str!("../../files/examples/smart-meter.yaml");
const LOAD: &str = include_str!("../../files/examples/load.yaml");
const STORM: &str = include_str!("../../files/examples/storm.yaml");
const NBIOT: &str = include_str!("../../files/examples/nbiot.yaml");
const SCHEMA: &str = include_str!("../../files/schema/scenario.schema.json");
const BUDGET_SCHEMA: &str = include_str!("../../files/schema/budget.schema.json");
const DEVICE_SCHEMA: &str = include_str!("../../files/schema/device.schema.json");
const NBIOT_SUMMARY_SCHEMA: &str = include_str!("../../files/schema/nbiot-summary.schema.json");
const TABLES: &str = include_str!("../../files/schema/tables.json");
const TARIFF_SCHEMA: &str = include_str!("../../files/schema/tariff.schema.json");

/// Writes a scenario.
pub fn run(arguments: &NewArguments) -> Result<ExitCode, Failure> {
    let text = match arguments.kind {
        NewKind::Comparison => COMPARISON,
        NewKind::Load => LOAD,
        NewKind::Storm => STORM,
        NewKind::Nbiot => NBIOT,
    };
    let Some(path) = arguments.out.as_deref().filter(|path| !output::is_stdout(path)) else {
        output::data(text);
        return Ok(ExitCode::SUCCESS);
    };
    // A scenario that somebody has changed must not be replaced by the template.
    let created = file_to_write(path, Existing::Refused, PUBLIC);
    let created = created.and_then(|mut file| Ok(file.write_all(text.as_bytes())?));
    created.map_err(|error| output::unwritable("--out", path, &error))?;
    output::note(format_args!(
        "wrote {}; run it: wirecost run {}",
        path.display(),
        path.display()
    ));
    Ok(ExitCode::SUCCESS)
}

/// Prints the JSON Schema of a kind of file.
pub fn schema(arguments: &SchemaArguments) -> Result<ExitCode, Failure> {
    if arguments.tables {
        output::data(TABLES);
        return Ok(ExitCode::SUCCESS);
    }
    output::data(match arguments.kind {
        SchemaKind::Scenario => SCHEMA,
        SchemaKind::Device => DEVICE_SCHEMA,
        SchemaKind::Tariff => TARIFF_SCHEMA,
        SchemaKind::Budget => BUDGET_SCHEMA,
        SchemaKind::NbiotSummary => NBIOT_SUMMARY_SCHEMA,
    });
    Ok(ExitCode::SUCCESS)
}
