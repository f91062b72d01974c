//! The limits of a scenario, and their error messages.

use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::{Budget, Error};
use wirecost_files::Input;
use wirecost_proto::shown::grouped;

/// The size of the largest file. A payload of 1 MB in hexadecimal digits fits.
pub const MAX_BYTES: usize = Input::Scenario.bound() as usize;
/// The deepest nesting.
pub(super) const MAX_DEPTH: usize = 16;
/// The largest number of values after aliases are expanded.
pub(super) const MAX_VALUES: usize = 100_000;
/// The largest number of aliases and of anchors.
pub(super) const MAX_ALIASES: usize = 1_000;
/// The largest amount of text after aliases are expanded.
const MAX_TEXT: usize = 2 * MAX_BYTES;

/// Part of the error message of the parser for too deeply nested brackets. The parser has no error type for it.
const TOO_MANY_BRACKETS: &str = "recursion limit exceeded";

pub(super) const SPLIT: &str = "write several scenarios; wirecost run takes several files";
const SMALLER: &str =
    "an alias counts as its whole expansion: use smaller aliases, or write several scenarios";

/// The limits as the parser takes them.
pub(super) fn budget() -> Option<Budget> {
    serde_saphyr::budget! {
        max_reader_input_bytes: Some(MAX_BYTES),
        max_events: 2 * MAX_VALUES,
        max_nodes: MAX_VALUES,
        max_depth: MAX_DEPTH,
        flow_nesting_limit: MAX_DEPTH,
        max_documents: 1,
        max_aliases: MAX_ALIASES,
        max_anchors: MAX_ALIASES,
        // The limit of all expansions covers the expansion of one anchor.
        enforce_alias_anchor_ratio: false,
        max_recorded_anchor_events: MAX_VALUES,
        max_recorded_anchor_bytes: MAX_BYTES,
        max_total_scalar_bytes: MAX_TEXT,
    }
}

/// The message and the hint of an error about a limit; `None` for any other error.
pub(super) fn told(error: &Error) -> Option<[String; 2]> {
    let [text, hint] = match error {
        Error::Budget { breach, .. } => breached(breach),
        Error::AliasError { error, .. } => return told(error),
        Error::AliasReplayLimitExceeded { .. } | Error::AliasReplayCounterOverflow { .. } => many_values(),
        Error::AliasReplayStackDepthExceeded { .. } => too_deep(),
        Error::ExternalMessage { msg, .. } if msg.contains(TOO_MANY_BRACKETS) => too_deep(),
        _ => return None,
    };
    Some([text, hint])
}

fn breached(breach: &BudgetBreach) -> [String; 2] {
    let values = grouped(MAX_VALUES as u64);
    let aliases = grouped(MAX_ALIASES as u64);
    let (text, hint) = match breach {
        BudgetBreach::Nodes { .. } | BudgetBreach::Events { .. } => return many_values(),
        BudgetBreach::Depth { .. } => return too_deep(),
        BudgetBreach::RecordedAnchorEvents { .. } => {
            (format!("aliases expand to more than {values} values"), SMALLER)
        }
        BudgetBreach::RecordedAnchorBytes { .. } => (
            format!("aliases expand to more than {} MiB", MAX_BYTES >> 20),
            SMALLER,
        ),
        BudgetBreach::ScalarBytes { .. } => (
            format!(
                "with all aliases expanded, this is more than {} MiB of text",
                MAX_TEXT >> 20
            ),
            SMALLER,
        ),
        BudgetBreach::Aliases { .. } => (format!("there are more than {aliases} aliases"), SPLIT),
        BudgetBreach::Anchors { .. } => (format!("there are more than {aliases} anchors"), SPLIT),
        BudgetBreach::Documents { .. } => (
            "a second document begins here".to_owned(),
            "write each scenario to a file of its own; wirecost run takes several",
        ),
        BudgetBreach::InputBytes { .. } => (format!("a scenario has at most {} MiB", MAX_BYTES >> 20), SPLIT),
        BudgetBreach::SequenceUnbalanced => (
            "a list or a table ends without having begun".to_owned(),
            "look at brackets and indentation",
        ),
        _ => ("this is larger than a scenario may be".to_owned(), SPLIT),
    };
    [text, hint.to_owned()]
}

fn many_values() -> [String; 2] {
    let text = format!(
        "with all aliases expanded, there are more than {} values",
        grouped(MAX_VALUES as u64)
    );
    [text, SMALLER.to_owned()]
}

fn too_deep() -> [String; 2] {
    let text = format!("lists and tables are more than {MAX_DEPTH} levels deep");
    let hint = "no key is that deep: look for an unclosed bracket, or for aliases inside aliased values";
    [text, hint.to_owned()]
}
