//! The key of a cell. It does not depend on the other cells of the run.

use std::time::Duration;

use serde::Serialize;
use wirecost_proto::random::key_of;
use wirecost_proto::units::DisplayDuration;
use wirecost_results::link_text::LinkText;
use wirecost_results::resolved::{ResolvedPayload, ResolvedSchedule};
use wirecost_security::Start;
use wirecost_stack::Stack;
use wirecost_stack::target::Target;

use super::PlannedCell;
use crate::labels::labels_of_link;
use crate::options::compare::{Options, Reconnect, Schedule, resolved_schedule};
use crate::options::content::Content;
use crate::options::sending::HttpSizes;
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

/// Everything that the figures of a cell depend on, in a fixed order of fields.
#[derive(Debug, Serialize)]
struct Identity<'a> {
    question: Question,
    engine: &'a str,
    target: String,
    version: &'a str,
    seed: u64,
    samples: u32,
    settle: String,
    timeout: String,
    ipv6: bool,
    resource: &'a str,
    keep_alive_s: u16,
    client_certificates: bool,
    dtls_cookie: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    spread: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    one_cpu: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    never_reconnects: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    chunk: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    nagle: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    offload: bool,
    #[serde(flatten)]
    http: HttpSizes,
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
    let text = |duration: Duration| DisplayDuration(duration).to_string();
    // Virtual time has only the built-in servers.
    let target = if engine == "sim" {
        Target::Builtin.to_string()
    } else {
        let path = options
            .path()
            .map_or_else(String::new, |path| format!(" {}", path.name()));
        options.target_name() + &path
    };
    let sending = &options.sending;
    let identity = Identity {
        question: question(options, cell),
        engine,
        target,
        version: env!("CARGO_PKG_VERSION"),
        seed: options.seed,
        samples: options.samples,
        settle: text(options.settle),
        timeout: text(options.timeout),
        ipv6: options.ipv6,
        resource: &options.resource,
        keep_alive_s: options.keep_alive_of(&cell.schedule),
        client_certificates: options.client_certificates,
        dtls_cookie: options.dtls_cookie,
        spread: options
            .shared_link
            .map(|shared| shared.spread.map_or("interval".into(), text)),
        one_cpu: options.one_cpu,
        never_reconnects: options.reconnect == Reconnect::Never,
        payload: sending
            .payload
            .as_deref()
            .map(|bytes| key_of(&ResolvedPayload::of(bytes).hex)),
        chunk: sending.chunk.map(|chunk| chunk.to_string()),
        nagle: sending.nagle,
        offload: sending.offload,
        http: sending.http,
    };
    format!("{:016x}", key_of(&canonical(&identity)))
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
    use crate::options::compare::Schedule;
    use crate::options::compare::tests::options;
    use crate::options::content::{Contents, ReadingsLists};
    use crate::plan::Plan;

    fn keys(change: impl FnOnce(&mut Options)) -> Vec<String> {
        let mut options = options(&["tcp", "mqtt-qos1"]);
        change(&mut options);
        let plan = Plan::new(&options);
        plan.cells.iter().map(|cell| key(&options, cell, "sim")).collect()
    }

    #[test]
    fn a_key_has_16_hexadecimal_digits() {
        let keys = keys(|_| {});
        assert_eq!(keys.len(), 2);
        assert!(
            keys.iter()
                .all(|key| key.len() == 16 && key.bytes().all(|byte| byte.is_ascii_hexdigit()))
        );
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
    fn every_option_that_changes_figures_changes_the_key() {
        let changes: [fn(&mut Options); 15] = [
            |options| options.seed = 43,
            |options| options.samples = 11,
            |options| options.settle = Duration::from_secs(2),
            |options| options.keep_alive = 30,
            |options| options.reconnect = Reconnect::Never,
            |options| {
                options.schedules = vec![Schedule {
                    messages: 2,
                    ..Schedule::default()
                }]
            },
            |options| options.links[0].up.mtu = 1_400,
            |options| options.sending.nagle = true,
            |options| options.sending.offload = true,
            |options| options.sending.chunk = Some(ByteSize::from_bytes(100)),
            |options| options.sending.http.request_headers = Some(ByteSize::from_bytes(100)),
            |options| options.sending.http.response_body = Some(ByteSize::from_bytes(100)),
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
