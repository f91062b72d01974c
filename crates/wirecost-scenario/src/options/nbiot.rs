//! Reports in NB-IoT cells: what a run is asked to do, and its points with their dimensions.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::time::Duration;

use wirecost_nbiot::Config;
use wirecost_proto::ByteSize;
use wirecost_proto::units::DisplayDuration;
use wirecost_results::nbiot::Point;
use wirecost_results::resolved::Tree;
use wirecost_results::shard::Shard;
use wirecost_security::Start;
use wirecost_stack::Stack;

use super::what_if::WhatIf;
use crate::key::Holds::{Lists, Network, Of, Several, Text};
use crate::key::{RATE, SIZE, STACK, TIME};
use crate::options::common::{Ipv6, Resource, Seed};
use crate::options::refusal::{Checked, Refusal, once};
use crate::options::row::{Named, Rows, SharedRow, Spec, options};
use crate::parameter::{self, ParameterError};
use crate::selector::Labels;
use crate::table::message_rate_text;

/// The value of the dimension `what_if` in the network as it is given.
pub const NO_CHANGE: &str = "none";

/// The stacks of the study. It models MQTT as TCP alone: the report follows the three-way handshake, without CONNECT and CONNACK.
pub const STUDY_STACKS: [&str; 3] = ["coap-non", "coap-con", "tcp"];
/// The reports of the study, in bytes, the application's header included.
pub const STUDY_SIZES: [usize; 2] = [25, 400];
/// The loads of the study, in reports per second and cell.
pub const STUDY_LOADS: [f64; 8] = [0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0];

const RMAX: &str = "levels.ce0.npdcch_rmax";
const G: &str = "levels.ce0.npdcch_g";

/// The search spaces whose knees are compared; their periods, Rmax x G, are 8, 16, 32 and 64 ms. That of 8 ms has a smaller Rmax
/// than the profiles, because G is at least 1.5 (TS 36.331).
const SEARCH_SPACES: [[(&str, &str); 2]; 4] = [
    [(RMAX, "4"), (G, "2")],
    [(RMAX, "8"), (G, "2")],
    [(RMAX, "8"), (G, "4")],
    [(RMAX, "8"), (G, "8")],
];

/// Delay within which a report counts as served.
pub const DEADLINE: Duration = Duration::from_secs(20);

/// The largest load of a cell, in reports per second. At that load a device every millisecond arrives in 21 cells, and the devices that
/// wait for a minute fill a gigabyte.
pub(crate) const MOST_LOAD: f64 = 40.0;
/// The largest report.
const MOST_BYTES: u64 = 100_000;
/// How long reports are measured.
const DURATIONS: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(86_400);
/// The time without traffic after which a kept connection is kept alive: 1 min to what MQTT's 16 bits hold in seconds.
const KEEP_ALIVES: RangeInclusive<Duration> = Duration::from_secs(60)..=Duration::from_secs(65_535);

/// Keep-alives of a kept connection between two reports, from the seconds between reports and those without traffic before a
/// keep-alive: none where a report follows before one is due.
pub fn keep_alives_per_report(interval_s: f64, keep_alive_s: f64) -> f64 {
    ((interval_s / keep_alive_s).ceil() - 1.0).max(0.0)
}

/// Time without traffic after which a kept connection is kept alive, unless the scenario says otherwise: 30 min to 2 h are usual
/// (RFC 9293, section 3.8.4, asks for 2 h as TCP's default).
pub const KEEP_ALIVE: Duration = Duration::from_secs(1_800);

/// The most points of one scenario.
pub const MAX_POINTS: usize = 10_000;

/// The profile of the network where none is named.
pub const DEFAULT_PROFILE: &str = "vodafone";
/// The key of the profile, beside the groups of parameters.
pub(crate) const PROFILE: &str = "profile";

const REPORTS: &str = "Reports";
const MEASUREMENT: &str = "Measurement";

options! {
    /// What is run in the cells.
    #[derive(Clone, Debug, PartialEq)]
    NbiotOptions by new(
        profile: String = DEFAULT_PROFILE.to_owned(),
        network: Config = Config::profile(DEFAULT_PROFILE).unwrap_or_default()
    ) {
        /// The profile that the network started from.
        field profile: String = profile, in ["nbiot"];
        /// The network.
        field network: Config = network, in ["nbiot"];
        /// The network: a profile, or a profile with parameters that differ from it.
        keys nbiot: Network, by |options| Some(Tree::from_value(&options.given_network())) => Spec::FILE;
        /// The stacks.
        field stacks: Vec<Stack> = STUDY_STACKS.iter().filter_map(|name| name.parse().ok()).collect(), in ["stack"];
        /// Stacks of the reports. Default: those of the study, coap-non, coap-con and tcp.
        keys stack: Of(&STACK), by |options| Some(texts(&options.stacks)) => Spec::FILE;
        /// Sizes of a report, the application's header included.
        field sizes: Vec<ByteSize> = STUDY_SIZES.map(|size| ByteSize::from_bytes(size as u64)).to_vec(), in ["size"];
        /// Sizes of a report, the application's header included. Default: 25B and 400B.
        keys size: Of(&SIZE), by |options| Some(texts(&options.sizes)) => Spec::FILE;
        /// Reports per second and cell.
        field loads: Vec<f64> = STUDY_LOADS.to_vec(), in ["load"];
        /// Reports per second and cell. Default: 0.5/s to 4/s in steps of 0.5/s.
        keys load: Of(&RATE), by |options| Some(texts(options.loads.iter().copied().map(message_rate_text))) => Spec::FILE;
        /// Changes of the network or of the endpoints; each adds every point once more.
        field what_ifs: Vec<WhatIf> = Vec::new(), in ["what_if"];
        /// Changes beside the network as given, each for every point once more: the names of --what-if.
        keys what_if: Several(&Text), by |options| (!options.what_ifs.is_empty()).then(|| texts(&options.what_ifs)) => Spec::FILE;
        /// Replications of each point, each with places and arrivals of its own [default: 3; with --full: 10].
        option seeds: u32 as u32 = 3 => Spec::under(MEASUREMENT).default_said().always_written();
        common seed: Seed => Seed::SPEC.below(MEASUREMENT).further();
        /// How long reports are measured, by when they are generated [default: 120s; with --full: 600s].
        option duration: Duration as Duration = Duration::from_secs(120)
            => Spec::under(MEASUREMENT).flag("duration", Some('d')).default_said().always_written();
        /// How long reports are generated before; `None` for a tenth of the duration.
        field warm_up: Option<Duration> = None, in ["warm_up"];
        /// How long reports are generated before. Default: a tenth of the duration.
        keys warm_up: Of(&TIME), by |options| Some(Tree::text(DisplayDuration(options.warm_up()))) => Spec::FILE;
        /// Time between two reports of a device, for battery life.
        option interval: Duration as Duration = Duration::from_secs(7_200) => Spec::under(REPORTS).always_written();
        /// How the connection of a report starts: cold, resumed or 0rtt. With 0rtt you accept that a message can be replayed.
        option start: Start as Named<Start> = Start::Cold => Spec::under(REPORTS).takes("START").always_written();
        /// Time without traffic after which a connection that persistent-tcp keeps is kept alive: by PINGREQ (MQTT), else by TCP.
        option keep_alive: Duration as Duration = KEEP_ALIVE => Spec::under(REPORTS).further().always_written();
        common ipv6: Ipv6 => Ipv6::SPEC.below(REPORTS).further().always_written();
        common resource: Resource => Resource::SPEC.below(REPORTS).further();
        /// Show the load at which 5 % of reports are not served, with an NPDCCH occasion every 8, 16, 32 and 64 ms.
        option sensitivity: bool as bool = false
            => Spec::under(MEASUREMENT).further().excludes(&["vary", "what_if"]);
        /// Parameters of the network with several values; every combination adds every point once more.
        field varied: Vec<VariedParameter> = Vec::new(), in ["vary"];
        /// Lists: every combination is run. Parameters of the network have their paths as keys: nbiot.levels.ce0.npdcch_g.
        keys vary: Lists, by |options| (!options.varied.is_empty()).then(|| Tree::from_value(&options.varied_values())) => Spec::FILE;
        /// The part of the points to run; `None` for all.
        field shard: Option<Shard> = None, in [];
    }
}

impl Default for NbiotOptions {
    /// The grid of the study in its network.
    fn default() -> Self {
        Self::defaults()
    }
}

/// A list of texts.
fn texts<T: Display>(list: impl IntoIterator<Item = T>) -> Tree {
    Tree::List(list.into_iter().map(Tree::text).collect())
}

/// A parameter of the network with several values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariedParameter {
    /// Where it is in the network's parameters, e.g. `rrc.flow`.
    pub path: &'static str,
    /// The values, as they are written.
    pub values: Vec<String>,
}

/// A network with the values of its varied parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct VariedNetwork {
    /// The values by path; empty where nothing is varied.
    pub values: BTreeMap<String, String>,
    /// The network.
    pub config: Config,
}

impl VariedParameter {
    /// Reads `PATH=V1,V2,...`; commas within brackets separate no values.
    ///
    /// # Errors
    /// There is no such parameter.
    pub fn new(path: &str, values: Vec<String>) -> Result<Self, ParameterError> {
        let path = parameter::path(path.strip_prefix("nbiot.").unwrap_or(path))?;
        let values = values.into_iter().map(|value| parameter::plain(&value)).collect();
        Ok(Self { path, values })
    }
}

impl NbiotOptions {
    /// The grid of the study, in the network of a profile.
    ///
    /// # Errors
    /// There is no such profile.
    pub fn study(profile: &str) -> Result<Self, ParameterError> {
        Ok(Self::new(profile.to_owned(), parameter::profile(profile)?))
    }

    /// The parameters of the network, but for those that vary, and its profile.
    fn given_network(&self) -> serde_json::Value {
        let mut network = parameter::tree_of(&self.network);
        for varied in &self.varied {
            let (group, name) = varied.path.rsplit_once('.').unwrap_or_default();
            let pointer = format!("/{}", group.replace('.', "/"));
            if let Some(group) = network
                .pointer_mut(&pointer)
                .and_then(|group| group.as_object_mut())
            {
                // A varied parameter has no value of its own: in the resolved file it stands under `vary` alone.
                group.remove(name);
            }
        }
        if let Some(groups) = network.as_object_mut() {
            groups.insert(PROFILE.into(), self.profile.clone().into());
        }
        network
    }

    /// The parameters of the network that differ from its profile, with their values as `--set` takes them.
    pub fn changed(&self) -> Vec<(&'static str, String)> {
        let profile = Config::profile(&self.profile).unwrap_or_default();
        let [usual, given] = [&profile, &self.network].map(parameter::tree_of);
        let value = |tree: &serde_json::Value, path: &str| {
            tree.pointer(&format!("/{}", path.replace('.', "/")))
                .cloned()
                .unwrap_or_default()
        };
        let paths = parameter::paths().iter().map(String::as_str);
        let changed = paths.filter(|path| value(&usual, path) != value(&given, path));
        changed
            .map(|path| (path, value(&given, path).to_string().trim_matches('"').to_owned()))
            .collect()
    }

    /// The values of the varied parameters by their keys in a file.
    fn varied_values(&self) -> BTreeMap<String, &[String]> {
        let varied = self.varied.iter();
        varied
            .map(|one| (format!("nbiot.{}", one.path), one.values.as_slice()))
            .collect()
    }

    /// Checks that it can be run.
    ///
    /// # Errors
    /// The first value that is not allowed.
    pub fn validate(&self) -> Checked {
        let seconds = |time: Duration| format!("{} s", time.as_secs_f64());
        let load = self
            .loads
            .iter()
            // Written so that NaN, which is neither above nor below, is refused too.
            .find(|load| !(**load > 0.0 && **load <= MOST_LOAD));
        let size = self
            .sizes
            .iter()
            .find(|size| !(1..=MOST_BYTES).contains(&size.bytes()));
        let found = |is_wrong: bool, given: String| is_wrong.then_some(given);
        let values = [
            (
                "load",
                "above 0/s and at most 40/s per cell",
                load.map(|load| format!("{load}/s")),
            ),
            (
                "size",
                "1 B to 100 kB",
                size.map(|size| format!("{} B", size.bytes())),
            ),
            (
                "seeds",
                "1 to 1000",
                found(!(1..=1_000).contains(&self.seeds), self.seeds.to_string()),
            ),
            (
                "duration",
                "1s to 24h",
                found(!DURATIONS.contains(&self.duration), seconds(self.duration)),
            ),
            (
                "interval",
                "at least 1s",
                found(self.interval < Duration::from_secs(1), seconds(self.interval)),
            ),
            (
                "keep_alive",
                "1min to 65535s",
                found(!KEEP_ALIVES.contains(&self.keep_alive), seconds(self.keep_alive)),
            ),
        ];
        let refused = values
            .into_iter()
            .find_map(|(key, allowed, given)| Some((key, allowed, given?)));
        refused.map_or(Ok(()), |(key, allowed, given)| {
            Err(Refusal::new(key, format!("must be {allowed}, got {given}")))
        })?;
        once("stack", "stack", &self.stacks)?;
        once("size", "size", &self.sizes)?;
        once("load", "load", &self.loads)?;
        once("what_if", "change", &self.what_ifs)?;
        self.varied
            .iter()
            .try_for_each(|varied| once("vary", varied.path, &varied.values))
    }

    /// Keep-alives of a kept connection between two reports.
    pub fn keep_alives_per_report(&self) -> f64 {
        keep_alives_per_report(self.interval.as_secs_f64(), self.keep_alive.as_secs_f64())
    }

    /// Every combination of the varied parameters, the last one changing first; the network alone where nothing is varied.
    ///
    /// # Errors
    /// A parameter does not take a value, or the network cannot be with it.
    pub fn networks(&self) -> Result<Vec<VariedNetwork>, ParameterError> {
        if self.sensitivity {
            return SEARCH_SPACES
                .iter()
                .map(|space| self.with_search_space(space))
                .collect();
        }
        let mut all = vec![VariedNetwork {
            values: BTreeMap::new(),
            config: self.network.clone(),
        }];
        for VariedParameter { path, values } in &self.varied {
            let mut more = Vec::with_capacity(all.len() * values.len());
            for network in &all {
                for value in values {
                    let mut network = network.clone();
                    network.config = parameter::set(&network.config, path, value)?;
                    network.values.insert((*path).to_owned(), value.clone());
                    more.push(network);
                }
            }
            all = more;
        }
        for network in &all {
            network.config.validate()?;
        }
        Ok(all)
    }

    /// The network with one DCI in each search space of coverage level 0, which has this Rmax and G.
    fn with_search_space(
        &self,
        space: &[(&'static str, &'static str)],
    ) -> Result<VariedNetwork, ParameterError> {
        let mut network = VariedNetwork {
            values: BTreeMap::new(),
            config: self.network.clone(),
        };
        for (path, value) in space {
            network.config = parameter::set(&network.config, path, value)?;
            network.values.insert((*path).to_owned(), (*value).to_owned());
        }
        network.config.mac.dci_per_npdcch_period = 1;
        network.config.validate()?;
        Ok(network)
    }

    /// How long reports are generated before they are measured.
    pub fn warm_up(&self) -> Duration {
        self.warm_up.unwrap_or(self.duration / 10)
    }

    /// The number of points.
    pub fn points(&self) -> usize {
        let spaces = self.sensitivity.then_some(SEARCH_SPACES.len());
        let varied = self.varied.iter().map(|varied| varied.values.len()).chain(spaces);
        let lists = [
            self.stacks.len(),
            self.sizes.len(),
            self.loads.len(),
            self.what_ifs.len() + 1,
        ];
        lists.into_iter().chain(varied).fold(1, usize::saturating_mul)
    }

    /// The dimensions of every point with their values.
    ///
    /// # Errors
    /// As [`NbiotOptions::networks`].
    pub fn labels(&self) -> Result<Vec<Labels>, ParameterError> {
        let mut all = Vec::new();
        for network in self.networks()? {
            let known = network.values.into_iter();
            let labels = known.map(|(path, value)| Ok((parameter::path(&path)?, value)));
            all.push(labels.collect::<Result<Labels, ParameterError>>()?);
        }
        let changes = std::iter::once(NO_CHANGE).chain(self.what_ifs.iter().map(|change| change.name()));
        let dimensions: [(&'static str, Vec<String>); 4] = [
            ("what_if", changes.map(str::to_owned).collect()),
            ("size", self.sizes.iter().map(ToString::to_string).collect()),
            ("stack", self.stacks.iter().map(ToString::to_string).collect()),
            (
                "load",
                self.loads.iter().copied().map(message_rate_text).collect(),
            ),
        ];
        for (key, values) in dimensions {
            let each = |labels: &Labels| {
                let labels = labels.clone();
                values.iter().map(move |value| {
                    let mut labels = labels.clone();
                    labels.insert(key, value.clone());
                    labels
                })
            };
            all = all.iter().flat_map(each).collect();
        }
        Ok(all)
    }
}

/// The dimensions of a point with their values.
pub fn labels_of_point(point: &Point) -> Labels {
    let change = point.what_if.clone().unwrap_or_else(|| NO_CHANGE.into());
    let mut labels = Labels::from([
        ("stack", point.stack_alone().to_owned()),
        ("size", ByteSize::from_bytes(point.size_bytes as u64).to_string()),
        ("load", message_rate_text(point.load)),
        ("what_if", change),
    ]);
    let varied = point.varied.iter();
    labels.extend(varied.filter_map(|(path, value)| Some((parameter::path(path).ok()?, value.clone()))));
    labels
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::row;

    #[test]
    fn a_negative_load_is_refused_with_what_is_allowed() {
        let options = NbiotOptions {
            loads: vec![-1.0],
            ..NbiotOptions::default()
        };
        let error = options.validate().unwrap_err().to_string();
        assert_eq!(
            error,
            "load must be above 0/s and at most 40/s per cell, got -1/s"
        );
    }

    /// Each of two equal values would make the same points.
    #[test]
    fn a_value_that_is_named_twice_is_refused() {
        let mut twice: [(&str, NbiotOptions); 5] = [
            ("stack 2 of 2 has", NbiotOptions::default()),
            ("size 2 of 3 has", NbiotOptions::default()),
            ("load 9 of 9 has", NbiotOptions::default()),
            ("change 2 of 2 has", NbiotOptions::default()),
            ("npdcch_rmax 3 of 3 has", NbiotOptions::default()),
        ];
        let [stack, size, load, change, varied] = twice.each_mut().map(|(_, options)| options);
        stack.stacks = vec![stack.stacks[0]; 2];
        size.sizes.insert(0, size.sizes[0]);
        load.loads.push(load.loads[3]);
        change.what_ifs = vec![WhatIf::ReleaseAssistance; 2];
        let values = ["16", "32", "16"].map(str::to_owned).to_vec();
        varied.varied = vec![VariedParameter::new(RMAX, values).expect("a parameter")];
        for (told, options) in twice {
            let error = options.validate().unwrap_err().to_string();
            assert!(error.contains(told), "{told}: {error}");
        }
        assert_eq!(NbiotOptions::default().validate().err(), None);
    }

    #[test]
    fn each_field_is_in_keys_that_there_are() {
        assert_eq!(
            row::strays::<NbiotOptions>(NbiotOptions::BY_HAND, &["shard"]),
            Vec::<&str>::new()
        );
    }
}
