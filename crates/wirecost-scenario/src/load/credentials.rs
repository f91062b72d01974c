//! Who the devices of a load say that they are.

use std::path::Path;

use wirecost_files::Input;

use super::ScenarioInputs;
use crate::error::ScenarioError;
use crate::key::names;
use crate::node::{Node, Value};
use crate::options::load::roster::Roster;
use crate::shape::{LOGIN, VARIABLE};
use crate::table::{Table, text};

/// Reads the user and the password of all devices.
pub(super) fn login(
    table: &Table<'_>,
    inputs: ScenarioInputs<'_>,
) -> Result<Option<(String, String)>, ScenarioError> {
    let Some(node) = table.get("login") else {
        return Ok(None);
    };
    let own = Table::new(node, "login.", &names(LOGIN))?;
    let user = own.required("user", text)?;
    let password = match own.get("password") {
        Some(
            node @ Node {
                value: Value::Table(_),
                ..
            },
        ) => {
            let from = Table::new(node, "login.password.", &names(VARIABLE))?;
            let name = from.required("env", text)?;
            let unset = || from.error("env", format!("the environment has no variable {name}"));
            // A password in an environment variable is in no file that is passed on (docs/decisions/0036).
            (inputs.variable)(&name).ok_or_else(unset)?
        }
        // A broker may ask for a user alone.
        _ => own.one("password", text)?.unwrap_or_default(),
    };
    Ok(Some((user, password)))
}

/// Reads the devices of a file.
pub(super) fn roster(table: &Table<'_>, inputs: ScenarioInputs<'_>) -> Result<Option<Roster>, ScenarioError> {
    if table.get("credentials").is_none() {
        return Ok(None);
    }
    let name: String = table.required("credentials", text)?;
    let Some(folder) = inputs.folder else {
        return Ok(Some(Roster::unread(name)));
    };
    roster_of(&folder.join(&name))
        .map(Some)
        .map_err(|why| table.error("credentials", why))
}

/// Reads the devices of a file.
///
/// # Errors
/// One sentence that says what is wrong with the file.
pub fn roster_of(path: &Path) -> Result<Roster, String> {
    let shown = path.display();
    let text = Input::Credentials.text(path);
    let text = text.map_err(|why| format!("cannot read {shown}: {why}"))?;
    // The resolved scenario names the file wherever it is read.
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let roster = Roster::read(absolute.display().to_string(), &text);
    roster.map_err(|error| format!("{shown}, {error}"))
}
