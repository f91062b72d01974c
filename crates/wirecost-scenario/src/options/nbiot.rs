//! Reports in NB-IoT cells: what a run is asked to do, and its points with their dimensions.

use std::collections::BTreeMap;
use std::time::Duration;

use wirecost_nbiot::Config;
use wirecost_proto::ByteSize;
use wirecost_results::nbiot::Point;
use wirecost_results::shard::Shard;
use wirecost_security::Start;
use wirecost_stack::Stack;

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

/// Time without traffic after which a kept connection is kept alive, unless the scenario says otherwise.
pub const KEEP_ALIVE: Duration = Duration::from_secs(1_800);

/// The most points of one scenario.
pub const MAX_POINTS: usize = 10_000;

/// What is run in the cells.
#[derive(Clone, Debug, PartialEq)]
pub struct NbiotOptions {
    /// The stacks.
    pub stacks: Vec<Stack>,
    /// Sizes of a report, the application's header included.
    pub sizes: Vec<ByteSize>,
    /// Reports per second and cell.
    pub loads: Vec<f64>,
    /// Replications of each point.
    pub seeds: u32,
    /// The seed that all random streams follow from.
    pub seed: u64,
    /// How long reports are measured, by when they are generated.
    pub duration: Duration,
    /// How long reports are generated before; `None` for a tenth of the duration.
    pub warm_up: Option<Duration>,
    /// Time between two reports of a device; for battery life.
    pub interval: Duration,
    /// How the connection of every report starts.
    pub start: Start,
    /// Time without traffic after which a kept connection is kept alive.
    pub keep_alive: Duration,
    /// Whether hosts have IPv6 addresses.
    pub ipv6: bool,
    /// Topic or path of a report.
    pub resource: String,
    /// The profile that the network started from.
    pub profile: String,
    /// The network.
    pub network: Config,
    /// Changes of the network by their names; each adds every point once more.
    pub what_ifs: Vec<String>,
    /// Parameters of the network with several values; every combination adds every point once more.
    pub varied: Vec<VariedParameter>,
    /// Whether each point is run with an NPDCCH occasion every 8, 16, 32 and 64 ms, to find the knees.
    pub sensitivity: bool,
    /// Whether the statements of the published simulation are evaluated on the points.
    pub checks: bool,
    /// The part of the points to run; `None` for all.
    pub shard: Option<Shard>,
}

/// A parameter of the network with several values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariedParameter {
    /// Its path.
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
        let stacks = STUDY_STACKS.iter().filter_map(|name| name.parse().ok());
        let sizes = STUDY_SIZES.iter().map(|size| ByteSize::from_bytes(*size as u64));
        Ok(Self {
            stacks: stacks.collect(),
            sizes: sizes.collect(),
            loads: STUDY_LOADS.to_vec(),
            seeds: 3,
            seed: 42,
            duration: Duration::from_secs(120),
            warm_up: None,
            interval: Duration::from_secs(7_200),
            start: Start::Cold,
            keep_alive: KEEP_ALIVE,
            ipv6: false,
            resource: "test".into(),
            profile: profile.to_owned(),
            network: parameter::profile(profile)?,
            what_ifs: Vec::new(),
            varied: Vec::new(),
            sensitivity: false,
            checks: false,
            shard: None,
        })
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
        let changes = std::iter::once(NO_CHANGE).chain(self.what_ifs.iter().map(String::as_str));
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
