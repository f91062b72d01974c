//! The cells and devices of a comparison, and when each device starts.

use std::collections::BTreeMap;
use std::time::Duration;

use wirecost_link::{Link, LinkConfig};
use wirecost_proto::hosts::HostIndex;
use wirecost_proto::path::Links;
use wirecost_proto::random::key_of;
use wirecost_proto::units::{DisplayDuration, counted};
use wirecost_proto::{Direction, Framing, Path, Rng};
use wirecost_results::link_text::LinkText;
use wirecost_results::shard::Shard;
use wirecost_security::Start;
use wirecost_stack::Stack;
use wirecost_stack::media::Payload;

use crate::labels::labels_of_link;
use crate::options::compare::{Options, Schedule, ServerPath};
use crate::options::content::Content;
use crate::selector::Labels;

pub mod identity;

use identity::Dimensions;

/// A cell of the plan.
#[derive(Clone, Debug)]
pub struct PlannedCell {
    /// The stack of its devices.
    pub stack: Stack,
    /// How their connections start.
    pub start: Start,
    /// What a message carries.
    pub content: Content,
    /// The payload of a message, and what the message says about it.
    pub payload: Payload,
    /// Index of its link in the options.
    pub link: usize,
    /// The messages of a connection and their times.
    pub schedule: Schedule,
    /// Its link and schedule as the comments of a capture name them, after a comma each; empty where the run has one of each.
    pub conditions: String,
    /// Whether its link delivers every packet, intact and in its order.
    pub in_order: bool,
    /// Why it is not run. It has no devices in this case.
    pub not_run: Option<String>,
    /// The server's port.
    pub port: u16,
    /// Whether packets are seen at the device's end of the path alone, so that nothing is known of the server's end.
    pub sees_one_end: bool,
    /// The cell's random stream.
    pub rng: Rng,
}

/// A device of the plan. Its position in the plan is its [`HostIndex`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedDevice {
    /// Index of its cell.
    pub cell: usize,
    /// Index of the sample within the cell.
    pub sample: u32,
    /// Start after the run's first device.
    pub start: Duration,
}

/// Cells, and devices in the order of their starts.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The cells: starts within stacks within schedules within contents within links.
    pub cells: Vec<PlannedCell>,
    /// The devices.
    pub devices: Vec<PlannedDevice>,
    /// Whether the capture holds the packets of every device.
    records_all: bool,
}

/// The number of messages up to which the capture of a run holds every packet. The ledger always covers every packet.
pub const FULL_CAPTURE_MESSAGES: u64 = 10_000;
/// The least time between the starts of two devices, so that the link, not the machine, is the bottleneck.
pub const START_GAP: Duration = Duration::from_millis(10);
/// The rate of payload bytes per second over which starts are spread. At twice this rate the forwarder is milliseconds
/// late on two CPUs where packets of many devices meet.
const PAYLOAD_RATE: u32 = 10_000_000;

impl PlannedCell {
    /// The dimensions of the cell.
    pub(crate) fn dimensions(&self) -> Dimensions {
        Dimensions {
            stack: self.stack,
            start: self.start,
            content: self.content,
            link: self.link,
            schedule: self.schedule,
        }
    }
}

impl Options {
    /// The smallest MTU of all links, in bytes of an IP packet: the network has one.
    pub fn mtu(&self) -> u16 {
        self.links.iter().map(mtu_of).min().unwrap_or(1_500)
    }

    /// The number of cells for one engine.
    pub fn cells(&self) -> u64 {
        let has_own_keep_alive = self
            .schedules
            .iter()
            .any(|schedule| schedule.keep_alive.is_some());
        if !self.exclude.is_empty() || self.shard.is_some() || has_own_keep_alive {
            return (labels(self).len() / self.engine.of_cells().len()) as u64;
        }
        let ways = self.stacks.len() * self.starts.len() * self.schedules.len();
        (ways * self.contents.count() * self.links.len()) as u64
    }
}

impl Plan {
    /// The plan of a comparison: the order of samples is seeded and random, so that drift favours no stack.
    pub fn new(options: &Options) -> Self {
        let cells = planned_cells(options);
        let devices = planned_devices(options, &cells);
        let messages: u64 = devices
            .iter()
            .map(|device| cells[device.cell].schedule.messages)
            .sum();
        Self {
            cells,
            devices,
            records_all: messages <= FULL_CAPTURE_MESSAGES,
        }
    }

    /// Some cells of the plan as their own comparison, with the links that they use.
    pub fn part(&self, options: &Options, cells: &[usize]) -> (Options, Self) {
        let mut links: Vec<usize> = cells.iter().map(|cell| self.cells[*cell].link).collect();
        links.sort_unstable();
        links.dedup();
        let local = |cell: &usize| {
            let planned = self.cells[*cell].clone();
            let link = links.binary_search(&planned.link).unwrap_or_default();
            PlannedCell { link, ..planned }
        };
        let cells: Vec<PlannedCell> = cells.iter().map(local).collect();
        let options = Options {
            // Only the links of the part: a live batch checks each link that it has, one after the other.
            links: links.iter().map(|link| options.links[*link]).collect(),
            ..options.clone()
        };
        let devices = planned_devices(&options, &cells);
        let plan = Self {
            cells,
            devices,
            records_all: self.records_all,
        };
        (options, plan)
    }

    /// Whether the capture holds the packets of a device: of every one up to [`FULL_CAPTURE_MESSAGES`] of the whole
    /// comparison, else of the first samples of each cell.
    pub fn is_recorded(&self, host: HostIndex, options: &Options) -> bool {
        let device = self.devices.get(host as usize);
        self.records_all || device.is_some_and(|device| self.is_sample_recorded(device.sample, options))
    }

    /// Whether the capture holds the packets of this sample of any cell.
    pub fn is_sample_recorded(&self, sample: u32, options: &Options) -> bool {
        self.records_all || sample < options.record_hosts
    }

    /// An upper bound of the devices that are active at the same time: those that start within the longest life of one.
    pub fn overlapping_devices(&self, options: &Options) -> u64 {
        let life = options.longest_life();
        let started = life.as_nanos() / START_GAP.as_nanos() + 1;
        let devices = self.devices.len() as u64;
        devices.min(u64::try_from(started).unwrap_or(u64::MAX))
    }

    /// The time from the first to the last start of the devices of some cells.
    pub fn starts_take(&self, cells: impl Iterator<Item = usize>, options: &Options) -> Duration {
        let cells = cells
            .map(|cell| &self.cells[cell])
            .filter(|cell| cell.not_run.is_none());
        cells.map(start_gap).sum::<Duration>() * options.samples
    }

    /// The random stream of a device.
    pub fn rng_of(&self, device: &PlannedDevice) -> Rng {
        self.cells[device.cell].rng.host(u64::from(device.sample))
    }
}

/// The order of samples is seeded and random, so that drift favours no stack.
fn planned_devices(options: &Options, cells: &[PlannedCell]) -> Vec<PlannedDevice> {
    let runnable = cells
        .iter()
        .enumerate()
        .filter(|(_, cell)| cell.not_run.is_none());
    let samples = runnable.flat_map(|(cell, _)| (0..options.samples).map(move |sample| (cell, sample)));
    let mut order: Vec<(usize, u32)> = samples.collect();
    Rng::new(options.seed)
        .purpose(key_of("order"))
        .shuffle(&mut order);
    let mut start = Duration::ZERO;
    let mut devices = Vec::with_capacity(order.len());
    for (cell, sample) in order {
        devices.push(PlannedDevice { cell, sample, start });
        start += start_gap(&cells[cell]);
    }
    devices
}

/// Time between the start of a device of a cell and that of the next device.
fn start_gap(cell: &PlannedCell) -> Duration {
    let bytes = cell.payload.len() as u64 * (cell.schedule.messages + 1);
    START_GAP.max(Duration::from_secs(bytes) / PAYLOAD_RATE)
}

fn planned_cells(options: &Options) -> Vec<PlannedCell> {
    let contents = options.contents.each().into_iter();
    let payload = |content: Content| match &options.sending.payload {
        Some(payload) => payload.into(),
        None => content.payload(options.seed),
    };
    let payloads: BTreeMap<Content, Payload> = contents.map(|content| (content, payload(content))).collect();
    all_dimensions(options)
        .filter(|cell| is_asked(options, *cell))
        .map(|cell| planned_cell(options, cell, payloads[&cell.content].clone()))
        .collect()
}

/// The labels of a cell as `engine` runs it.
pub fn labels_of_cell(options: &Options, cell: &PlannedCell, engine: &str) -> Labels {
    of_engine(options, cell.dimensions(), engine)
}

fn of_engine(options: &Options, cell: Dimensions, engine: &str) -> Labels {
    let mut labels = identity::labels(options, cell);
    labels.insert("engine", engine.to_owned());
    labels
}

/// Keys and labels of the cells of a comparison, for each of its engines.
pub fn labels(options: &Options) -> Vec<(String, Labels)> {
    let cells = labelled(options).into_iter();
    cells.map(|cell| (cell.key, cell.labels)).collect()
}

/// A cell of a comparison that an engine runs.
#[derive(Clone, Debug)]
pub(crate) struct LabelledCell {
    pub(crate) key: String,
    pub(crate) stack: Stack,
    pub(crate) framing: Framing,
    pub(crate) labels: Labels,
}

/// The cells of a comparison, for each of its engines.
pub(crate) fn labelled(options: &Options) -> Vec<LabelledCell> {
    let of_engines = |cell: Dimensions| {
        let of_engine = |engine: &&'static str| LabelledCell {
            key: identity::key_of_cell(options, cell, engine),
            stack: cell.stack,
            framing: options.framing,
            labels: of_engine(options, cell, engine),
        };
        options
            .engine
            .of_cells()
            .iter()
            .map(of_engine)
            .collect::<Vec<_>>()
    };
    all_dimensions(options)
        .filter(|cell| is_asked(options, *cell))
        .flat_map(of_engines)
        .collect()
}

/// Every cell in its order: starts within stacks within schedules within contents within links.
fn all_dimensions(options: &Options) -> impl Iterator<Item = Dimensions> {
    let contents = options.contents.each();
    let of_schedule = move |link: usize, content: Content, schedule: Schedule| {
        options.ways().map(move |(stack, start)| Dimensions {
            stack,
            start,
            content,
            link,
            schedule,
        })
    };
    let of_content = move |link: usize, content: Content| {
        let schedules = options.schedules.iter();
        schedules.flat_map(move |schedule| of_schedule(link, content, *schedule))
    };
    let of_link = move |link: usize| {
        let contents = contents.clone().into_iter();
        contents.flat_map(move |content| of_content(link, content))
    };
    (0..options.links.len()).flat_map(of_link)
}

/// Whether a cell is neither excluded nor in another shard. A stack without keep-alives has no cell for a keep-alive of its own.
fn is_asked(options: &Options, cell: Dimensions) -> bool {
    if cell.schedule.keep_alive.is_some() && !cell.stack.publishes() {
        return false;
    }
    if options.exclude.is_empty() && options.shard.is_none() {
        return true;
    }
    let labels = identity::labels(options, cell);
    let is_left_out = options.exclude.iter().any(|selector| selector.matches(&labels));
    let is_here = |shard: Shard| shard.holds(&identity::question_key(options, cell));
    !is_left_out && options.shard.is_none_or(is_here)
}

fn planned_cell(options: &Options, dimensions: Dimensions, payload: Payload) -> PlannedCell {
    let Dimensions {
        stack,
        start,
        content,
        link,
        schedule,
    } = dimensions;
    let config = &options.links[link];
    let port = options.port_of(stack);
    let not_run = port
        .clone()
        .err()
        // The first reason is told, in the order from what the server lacks to what the link cannot carry.
        .or_else(|| stack.refuses(payload.len() as u64))
        .or_else(|| stack.cannot_start(start))
        .or_else(|| options.cannot_share(stack))
        .or_else(|| options.sending.refuses(stack))
        .or_else(|| options.handshake.refuses(stack))
        .or_else(|| stack.cannot_cross(mtu_of(config), options.ipv6));
    PlannedCell {
        stack,
        start,
        content,
        payload,
        link,
        schedule,
        conditions: conditions(options, link, schedule),
        in_order: is_in_order(config),
        not_run,
        port: port.unwrap_or_else(|_| stack.port()),
        sees_one_end: options.path() == Some(ServerPath::Real),
        // By what the cell is, so that other cells of a run, or their order, do not change its bytes.
        rng: Rng::new(options.seed).cell(identity::stream(options, dimensions)),
    }
}

/// What tells a cell from those of the same stack, start and size: link and schedule, if the run has several.
fn conditions(options: &Options, link: usize, schedule: Schedule) -> String {
    let mut words = link_words(options, link);
    if options.schedules.len() > 1 {
        words += &format!(", {} each", counted(schedule.messages, "message"));
        if let Some(interval) = schedule.interval {
            words += &format!(", one per {}", DisplayDuration(interval));
        }
        if let Some(seconds) = schedule.keep_alive {
            words += &format!(", keep-alive {seconds}s");
        }
    }
    words
}

/// The properties of a link that differ between the links of the run; the whole link if another one has the same.
fn link_words(options: &Options, link: usize) -> String {
    let all: Vec<_> = options.links.iter().map(labels_of_link).collect();
    let own = &all[link];
    // Labels leave out some settings, such as the queue: links that differ in these alone need all their words.
    if all.iter().filter(|labels| *labels == own).count() > 1 {
        return format!(", {}", LinkText(options.links[link]));
    }
    let varying = own
        .iter()
        .filter(|label| !all.iter().all(|labels| labels.contains(label)));
    let word = |(name, value): &(&str, String)| {
        let name = name.trim_start_matches("link.");
        format!(", {name} {value}")
    };
    varying.map(word).collect()
}

/// The largest IP packet that passes a link both ways, in bytes.
pub fn mtu_of(link: &LinkConfig) -> u16 {
    link.up.mtu.min(link.down.mtu)
}

fn is_in_order(link: &LinkConfig) -> bool {
    let straight = |way: &Direction| {
        let direction = link.direction(*way);
        direction.delay_variation.is_none() && direction.reorder.is_none() && direction.rate.is_none()
    };
    // A full queue drops packets, and there is a queue only if there is a rate.
    link.is_lossless() && Direction::ALL.iter().all(straight)
}

/// The links of a live run: one per device, one per link for its check, and one without delay for the path itself.
#[derive(Debug)]
pub struct DeviceLinks {
    links: Vec<Link>,
}

impl DeviceLinks {
    /// The links of the plan's devices, then those of the checks, then the one without delay.
    pub fn new(plan: &Plan, configs: &[LinkConfig], seed: u64) -> Self {
        let of_device =
            |device: &PlannedDevice| Link::new(configs[plan.cells[device.cell].link], plan.rng_of(device));
        let undelayed = LinkConfig::default();
        let checks = configs
            .iter()
            .chain([&undelayed])
            .enumerate()
            .map(|(index, config)| {
                Link::new(
                    *config,
                    Rng::new(seed).purpose(key_of("link check")).host(index as u64),
                )
            });
        Self {
            links: plan.devices.iter().map(of_device).chain(checks).collect(),
        }
    }

    /// The link of a device or of a check.
    pub fn link_of(&self, host: HostIndex) -> Option<&Link> {
        self.links.get(host as usize)
    }
}

impl Links for DeviceLinks {
    fn link(&mut self, host: HostIndex) -> Option<&mut dyn Path> {
        self.links
            .get_mut(host as usize)
            .map(|link| link as &mut dyn Path)
    }
}

#[cfg(test)]
mod tests;
