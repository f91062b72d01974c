//! The key of a cell. It does not depend on the other cells of the run.

use std::time::Duration;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use wirecost_proto::random::key_of;
use wirecost_proto::units::DisplayDuration;
use wirecost_results::link_text::LinkText;
use wirecost_results::resolved::Tree;
use wirecost_security::Start;
use wirecost_stack::Stack;
use wirecost_stack::target::Target;

use super::PlannedCell;
use crate::labels::labels_of_link;
use crate::options::compare::{Hex, Options, Reconnect, ResolvedSchedule, Schedule, resolved_schedule};
use crate::options::content::Content;
use crate::options::row::{Changes, Row, Rows};
use crate::selector::Labels;

/// What a cell measures, whatever the engine. The random stream follows from it, so that both engines and every version
/// draw the same random numbers.
#[derive(Debug, Serialize)]
struct Question {
    stack: String,
    start: String,
    #[serde(rename = "size")]
    content: String,
    link: LinkText,
    schedule: ResolvedSchedule,
}

/// Everything that the figures of a cell depend on: the cell, and each option that changes figures and is not among its
/// dimensions. An option is left out only if its row says so.
struct Identity<'a> {
    options: &'a Options,
    cell: Dimensions,
    engine: &'a str,
}

/// The options of the first release, in the order in which keys have them. The options since then follow in the order of their
/// rows, where they are not the default, so that older folders keep their names.
const FIRST: [&str; 18] = [
    "seed",
    "samples",
    "settle",
    "timeout",
    "ipv6",
    "resource",
    "keep_alive",
    "client_certificates",
    "dtls_cookie",
    "spread",
    "one_cpu",
    "reconnect",
    "payload",
    "chunk",
    "nagle",
    "offload",
    "request_headers",
    "response_body",
];

impl Serialize for Identity<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Self {
            options,
            cell,
            engine,
        } = *self;
        let mut map = to.serialize_map(None)?;
        map.serialize_entry("question", &question(options, cell))?;
        map.serialize_entry("engine", engine)?;
        map.serialize_entry("target", &target_of(options, engine))?;
        // Another version may have other bytes: its cells are not continued by this one.
        map.serialize_entry("version", env!("CARGO_PKG_VERSION"))?;
        let named = |key: &&str| Options::ROWS.iter().find(|row| row.key == *key);
        let is_later =
            |row: &&Row<Options>| row.spec.changes == Changes::Figures && !FIRST.contains(&row.key);
        // The key is a hash of this text: another order would give every cell of older folders another key.
        let first = FIRST.iter().filter_map(named);
        for row in first.chain(Options::ROWS.iter().filter(is_later)) {
            // Options at their default are left out, so that a new option changes no key where it is not used.
            if let Some((key, value)) = in_key(row, options, cell) {
                map.serialize_entry(key, &value)?;
            }
        }
        map.end()
    }
}

/// An option as the key of a cell has it: as the resolved file does, but for four.
fn in_key(row: &Row<Options>, options: &Options, cell: Dimensions) -> Option<(&'static str, Tree)> {
    let text = |duration: Duration| Tree::text(DisplayDuration(duration));
    match row.key {
        "keep_alive" => {
            let seconds = options.keep_alive_of(&cell.schedule);
            // Under the name that the first release gave it.
            Some(("keep_alive_s", Tree::number(seconds.into())))
        }
        "spread" => {
            let spread = options.shared_link?.spread;
            Some(("spread", spread.map_or_else(|| Tree::text("interval"), text)))
        }
        "reconnect" => {
            let never = options.reconnect == Reconnect::Never;
            never.then_some(("never_reconnects", Tree::Bool(true)))
        }
        "payload" => {
            let bytes = options.sending.payload.as_deref()?;
            // A hash of it: the text of a payload of megabytes would be made again for each cell.
            Some(("payload", Tree::number(key_of(&Hex::from_bytes(bytes).hex))))
        }
        key => Some((key, row.resolved(options)?)),
    }
}

/// The key of the random stream of a cell, within the run's seed.
pub(crate) fn stream(options: &Options, cell: Dimensions) -> u64 {
    key_of(&question_key(options, cell))
}

/// The key of a cell as `engine` runs it: 16 hexadecimal digits.
pub fn key(options: &Options, cell: &PlannedCell, engine: &str) -> String {
    key_of_cell(options, cell.dimensions(), engine)
}

/// The key of a cell that is not planned yet.
pub(crate) fn key_of_cell(options: &Options, cell: Dimensions, engine: &str) -> String {
    let identity = Identity {
        options,
        cell,
        engine,
    };
    format!("{:016x}", key_of(&canonical(&identity)))
}

/// The target of the cells of an engine. Virtual time has only the built-in servers.
fn target_of(options: &Options, engine: &str) -> String {
    if engine == "sim" {
        return Target::Builtin.to_string();
    }
    let path = options
        .path()
        .map_or_else(String::new, |path| format!(" {}", path.name()));
    options.target_name() + &path
}

/// The dimensions of a cell of a comparison.
#[derive(Clone, Copy, Debug)]
pub struct Dimensions {
    /// The stack of its devices.
    pub stack: Stack,
    /// How their connections start.
    pub start: Start,
    /// What a message carries.
    pub content: Content,
    /// Index of its link in the options.
    pub link: usize,
    /// The messages of a connection and their times.
    pub schedule: Schedule,
}

/// The key of a cell whatever the engine. Shards are formed by it, so that the cells of both engines are in one shard.
pub(crate) fn question_key(options: &Options, cell: Dimensions) -> String {
    canonical(&question(options, cell))
}

/// The dimensions of a cell with its values, as `exclude` and thresholds name them, the engine left out.
pub(crate) fn labels(options: &Options, cell: Dimensions) -> Labels {
    let time = |time: Duration| DisplayDuration(time).to_string();
    let interval = cell
        .schedule
        .interval
        .map(|interval| ("interval", time(interval)));
    Labels::from([
        ("stack", cell.stack.to_string()),
        ("start", cell.start.to_string()),
        ("messages_per_connection", cell.schedule.messages.to_string()),
        ("target", options.target_name()),
    ])
    .into_iter()
    .chain(cell.content.labels())
    .chain(interval)
    .chain(labels_of_link(&options.links[cell.link]))
    .collect()
}

fn question(options: &Options, cell: Dimensions) -> Question {
    Question {
        stack: cell.stack.to_string(),
        start: cell.start.to_string(),
        content: cell.content.to_string(),
        link: LinkText(options.links[cell.link]),
        // Devices that differ in their keep-alive alone draw the same numbers, in one run as in two.
        schedule: resolved_schedule(&Schedule {
            keep_alive: None,
            ..cell.schedule
        }),
    }
}

/// JSON without spaces, fields in the order of the type.
fn canonical(value: &impl Serialize) -> String {
    // Strings, numbers and flags: there is nothing that JSON cannot hold.
    serde_json::to_string(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use wirecost_proto::ByteSize;

    use super::*;
    use crate::options::compare::tests::options;
    use crate::options::compare::{Schedule, SharedLink};
    use crate::options::content::{Contents, ReadingsLists};
    use crate::options::row;
    use crate::plan::Plan;

    fn keys(change: impl FnOnce(&mut Options)) -> Vec<String> {
        let mut options = options(&["tcp", "mqtt-qos1"]);
        change(&mut options);
        let plan = Plan::new(&options);
        plan.cells.iter().map(|cell| key(&options, cell, "sim")).collect()
    }

    /// The names of the cells of earlier folders follow from it, which are to be resumed.
    #[test]
    fn a_key_is_what_it_was_and_16_digits() {
        assert_eq!(keys(|_| {}), ["473b43e49d649a77", "b356034dc16b9062"]);
        let all = keys(|options| {
            options.one_cpu = true;
            options.reconnect = Reconnect::Never;
            options.shared_link = Some(SharedLink { spread: None });
            options.sending.nagle = true;
            options.sending.offload = true;
            options.sending.chunk = Some(ByteSize::from_bytes(100));
            options.sending.payload = Some(vec![7; 128].into());
            options.sending.http.request_headers = Some(ByteSize::from_bytes(100));
            options.sending.http.response_body = Some(ByteSize::from_bytes(100));
        });
        assert_eq!(all, ["ec2163a2728210ba", "4c53e16563b54592"]);
    }

    /// Of every row there is and will be: a value that is not the default changes the key, unless no figure depends on it.
    #[test]
    fn a_row_changes_the_key_unless_it_says_that_no_figure_depends_on_it() {
        let plain = keys(|_| {});
        for row in Options::ROWS {
            let (Some(read), Some(kind)) = (row.read, row.kind) else {
                continue;
            };
            let changed = keys(|options| read(row.example(kind), options).expect(row.key));
            match row.spec.changes {
                Changes::Figures => assert_ne!(changed, plain, "{}", row.key),
                Changes::Nothing | Changes::Dimension => assert_eq!(changed, plain, "{}", row.key),
            }
        }
    }

    /// A field that no key of the resolved file contains would be lost with the folder, and in the key of a cell.
    #[test]
    fn each_field_is_in_keys_that_there_are() {
        assert_eq!(
            row::strays::<Options>(Options::BY_HAND, &["shard"]),
            Vec::<&str>::new()
        );
        let first = FIRST
            .iter()
            .all(|key| Options::ROWS.iter().any(|row| row.key == *key));
        assert!(first);
    }

    #[test]
    fn more_cells_leave_keys_and_random_streams_alone() {
        let few = options(&["mqtt-qos1"]);
        let mut many = options(&["tcp", "mqtt-qos1", "coap-con"]);
        many.contents = Contents::Sizes([1, 128].map(ByteSize::from_bytes).to_vec());
        many.links
            .insert(0, wirecost_link::LinkConfig::symmetric(Duration::from_millis(1)));
        let (small, large) = (Plan::new(&few), Plan::new(&many));
        let cell = &small.cells[0];
        let same = |other: &&PlannedCell| key(&many, other, "live") == key(&few, cell, "live");
        let found: Vec<&PlannedCell> = large.cells.iter().filter(same).collect();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].rng, cell.rng);
    }

    #[test]
    fn what_is_read_with_others_changes_the_key_too() {
        let changes: [fn(&mut Options); 6] = [
            |options| options.shared_link = Some(SharedLink { spread: None }),
            |options| {
                options.schedules = vec![Schedule {
                    messages: 2,
                    ..Schedule::default()
                }]
            },
            |options| options.links[0].up.mtu = 1_400,
            |options| options.sending.payload = Some(vec![7; 128].into()),
            |options| options.contents = Contents::Sizes(vec![ByteSize::from_bytes(129)]),
            |options| {
                options.contents = Contents::Readings(ReadingsLists::default());
            },
        ];
        let plain = keys(|_| {});
        for (index, change) in changes.into_iter().enumerate() {
            assert_ne!(keys(change)[0], plain[0], "change {index}");
        }
        let options = options(&["tcp"]);
        let cell = &Plan::new(&options).cells[0];
        assert_ne!(key(&options, cell, "sim"), key(&options, cell, "live"));
    }

    /// The cell of a schedule with a keep-alive of its own is that of a run with this keep-alive: its key and its random numbers.
    /// A stack without keep-alives has no such cell.
    #[test]
    fn a_keep_alive_of_a_schedule_is_that_of_a_run() {
        let mut own = options(&["tcp", "mqtt-qos1"]);
        own.schedules.push(Schedule {
            keep_alive: Some(1_080),
            ..Schedule::default()
        });
        assert_eq!(own.cells(), 3);
        let mut of_run = options(&["mqtt-qos1"]);
        of_run.keep_alive = 1_080;
        let (many, one) = (Plan::new(&own), Plan::new(&of_run));
        assert_eq!(many.cells.len(), 3);
        assert_eq!(
            key(&own, &many.cells[2], "sim"),
            key(&of_run, &one.cells[0], "sim")
        );
        assert_eq!(many.cells[2].rng, one.cells[0].rng);
        let yaml = crate::Scenario::comparison(own.clone()).to_yaml();
        assert!(yaml.contains("keep_alive: 18min"), "{yaml}");
    }

    #[test]
    fn virtual_time_is_the_same_whatever_the_live_target() {
        let sim = keys(|options| options.target = Target::Mosquitto);
        assert_eq!(sim, keys(|_| {}));
    }
}
