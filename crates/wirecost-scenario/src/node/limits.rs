//! What a scenario may not be larger than, and what is said where it is.

use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::{Budget, Error};

/// The largest file: a payload of 1 MB in hexadecimal digits fits.
pub const MAX_BYTES: usize = 4 << 20;
/// The deepest nesting.
pub(super) const MAX_DEPTH: usize = 16;
/// The most values, with those that aliases represent.
pub(super) const MAX_VALUES: usize = 100_000;
/// The most aliases, and the most anchors.
pub(super) const MAX_ALIASES: usize = 1_000;
/// The most text, with that which aliases represent.
const MAX_TEXT: usize = 2 * MAX_BYTES;

/// How the parser says that brackets are nested too deeply, for which it has no type.
const TOO_MANY_BRACKETS: &str = "recursion limit exceeded";

pub(super) const SPLIT: &str = "write several scenarios; wirecost run takes several files";
const SMALLER: &str =
    "an alias counts as all that it stands for: let aliases stand for less, or write several scenarios";

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
        // What one anchor represents is limited by what all may.
        enforce_alias_anchor_ratio: false,
        max_recorded_anchor_events: MAX_VALUES,
        max_recorded_anchor_bytes: MAX_BYTES,
        max_total_scalar_bytes: MAX_TEXT,
    }
}

/// The limit that an error is about, in one sentence, and the way out; `None` where it is about anything else.
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
    let values = grouped(MAX_VALUES);
    let aliases = grouped(MAX_ALIASES);
    let (text, hint) = match breach {
        BudgetBreach::Nodes { .. } | BudgetBreach::Events { .. } => return many_values(),
        BudgetBreach::Depth { .. } => return too_deep(),
        BudgetBreach::RecordedAnchorEvents { .. } => (
            format!("what aliases may stand for is more than {values} values"),
            SMALLER,
        ),
        BudgetBreach::RecordedAnchorBytes { .. } => (
            format!("what aliases may stand for is more than {} MiB", MAX_BYTES >> 20),
            SMALLER,
        ),
        BudgetBreach::ScalarBytes { .. } => (
            format!(
                "with what aliases stand for, this is more than {} MiB of text",
                MAX_TEXT >> 20
            ),
            SMALLER,
        ),
        BudgetBreach::Aliases { .. } => (format!("these are more than {aliases} aliases"), SPLIT),
        BudgetBreach::Anchors { .. } => (format!("these are more than {aliases} anchors"), SPLIT),
        BudgetBreach::Documents { .. } => (
            "a second document begins here".to_owned(),
            "write each scenario to a file of its own; wirecost run takes several",
        ),
        BudgetBreach::InputBytes { .. } => (format!("a scenario has at most {} MiB", MAX_BYTES >> 20), SPLIT),
        BudgetBreach::SequenceUnbalanced => (
            "a list or a table ends that has not begun".to_owned(),
            "look at brackets and indentation",
        ),
        _ => ("this is larger than a scenario may be".to_owned(), SPLIT),
    };
    [text, hint.to_owned()]
}

fn many_values() -> [String; 2] {
    let text = format!(
        "with those that aliases stand for, these are more than {} values",
        grouped(MAX_VALUES)
    );
    [text, SMALLER.to_owned()]
}

fn too_deep() -> [String; 2] {
    let text = format!("lists and tables are more than {MAX_DEPTH} levels deep");
    let hint =
        "no key is as deep: look for a bracket that is not closed, or for aliases in what aliases stand for";
    [text, hint.to_owned()]
}

/// A number of at least a thousand with its thousands set apart.
fn grouped(number: usize) -> String {
    format!("{},{:03}", number / 1_000, number % 1_000)
}
