//! The world of one device.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use wirecost_link::{Counters, Link, LinkConfig};
use wirecost_proto::driver::{Device, DeviceReport, FlowReport, Service};
use wirecost_proto::hosts::{HostIndex, MAX_SIMULATED_DEVICES, server_address, simulated_address};
use wirecost_proto::path::Links;
use wirecost_proto::random::key_of;
use wirecost_proto::record::Record;
use wirecost_proto::{BothWays, Instant, Path, Rng};
use wirecost_results::traffic::AirConnection;
use wirecost_scenario::options::compare::Options;
use wirecost_scenario::plan::{PlannedCell, START_GAP};
use wirecost_sim::tap::Recording;
use wirecost_sim::{Carrier, Finished, Settings, Wake};
use wirecost_stack::channels::{ClientChannels, ServerChannels};
use wirecost_stack::server::{Clients, Discard, Server};
use wirecost_stack::{Client, Credentials, Message};

use super::SimulationError;
use super::sink::Sink;
use crate::air::{AirRecorder, PacketOnAir};
use crate::compare::analysis::{AnalysedDevice, DeviceMeasurement, analyse};
use crate::compare::device::{channel_options, client_config, timing};
use crate::compare::in_cell::{InCell, first_start};
use crate::compare::sampler::Sampler;

/// The number of the device at its server and on its link, where it is alone.
const NUMBER: HostIndex = 0;

/// The input of one device's world.
pub(super) struct World<'a> {
    pub(super) options: &'a Options,
    /// The index of the cell in the plan.
    pub(super) index: usize,
    pub(super) planned: &'a PlannedCell,
    pub(super) sample: u32,
    pub(super) message: &'a Message,
    pub(super) credentials: &'a Credentials,
    /// Whether to stop before the end.
    pub(super) stopped: &'a AtomicBool,
}

/// The results of one device's world.
pub(super) struct Outcome {
    pub(super) device: DeviceMeasurement,
    /// The decisions of its link, up and down.
    pub(super) counters: BothWays<Counters>,
    /// In a modelled cell, what was on the air for it.
    pub(super) air: Option<AirRecorder>,
    /// Its connections to the modelled cell.
    pub(super) connections: Vec<AirConnection>,
}

impl World<'_> {
    /// Runs the device to its end, on its link or in its cell.
    pub(super) fn play(&self, sink: Sink<'_>) -> Result<Outcome, SimulationError> {
        let config = self.link();
        if let Some(cell) = &config.cell {
            let carrier = InCell::new(config, cell, self.rng(), self.stopped)?;
            let (world, carrier) = self.run(carrier)?;
            let counters = carrier.counters();
            let (air, connections) = carrier.end();
            let device = self.analyse(world, sink, &air.packets())?;
            return Ok(Outcome {
                device,
                counters,
                air: Some(air),
                connections,
            });
        }
        let link = OnlyLink {
            link: Link::new(*config, self.rng()).with_chance_in_ties(self.rng()),
            stopped: self.stopped,
        };
        let (world, OnlyLink { link, .. }) = self.run(link)?;
        Ok(Outcome {
            device: self.analyse(world, sink, &[])?,
            counters: BothWays::from_fn(|way| *link.counters(way)),
            air: None,
            connections: Vec::new(),
        })
    }

    /// Runs the device over `carrier` to its end.
    fn run<C: Carrier>(&self, carrier: C) -> Result<(Ended, C), SimulationError> {
        let world = wirecost_sim::World::new(
            self.settings(),
            vec![self.device()?],
            vec![self.service()?],
            carrier,
            Recording::new(),
            Discard,
        );
        let Finished {
            devices,
            flows,
            links,
            tap,
            ..
        } = world.run(Instant::from_nanos(u64::MAX));
        if self.stopped.load(Ordering::Relaxed) {
            return Err(SimulationError::Stopped);
        }
        let records = tap.into_records();
        Ok((
            Ended {
                devices,
                flows,
                records,
            },
            links,
        ))
    }

    /// From the packets of the world to the device's figures. `air` says when the packets were on the air, in their order.
    fn analyse(
        &self,
        world: Ended,
        mut sink: Sink<'_>,
        air: &[PacketOnAir],
    ) -> Result<DeviceMeasurement, SimulationError> {
        let devices = world.devices.into_iter().map(|report| AnalysedDevice {
            index: self.index,
            cell: self.planned,
            sample: self.sample,
            report,
        });
        let devices: Vec<AnalysedDevice<'_>> = devices.collect();
        // Only the end says whether the device finished, and packets of one that did not must not be drawn.
        sink.begin(devices.iter().any(|device| device.report.finished));
        let records = world.records;
        let analysis = analyse(devices, &world.flows, &mut records.as_slice(), &mut sink)?;
        sink.keep(records, air);
        let device = analysis.devices.into_iter().next();
        Ok(device.ok_or_else(|| io::Error::other("the world has lost its device"))?)
    }

    fn link(&self) -> &LinkConfig {
        &self.options.links[self.planned.link]
    }

    /// The device's random numbers, as on kernel sockets.
    fn rng(&self) -> Rng {
        self.planned.rng.host(u64::from(self.sample))
    }

    /// The largest IP packet that the link carries in both directions.
    fn mtu(&self) -> u16 {
        let link = self.link();
        link.up.mtu.min(link.down.mtu)
    }

    fn settings(&self) -> Settings {
        let mtu = self.mtu();
        Settings {
            wake: if self.options.one_cpu {
                Wake::AfterBurst
            } else {
                Wake::Beside
            },
            ..Settings::linux(mtu, self.options.ipv6, self.rng().purpose(key_of("hosts")))
        }
        .with_writing(self.options.sending.writing())
    }

    fn device(&self) -> Result<Device<Client, Sampler>, SimulationError> {
        let (options, planned) = (self.options, self.planned);
        let stack = planned.stack;
        let rng = self.rng().purpose(key_of("client secrets"));
        let channels = channel_options(options, self.mtu());
        let channels = ClientChannels::simulated(self.credentials, channels, rng);
        let config = client_config(options, planned, NUMBER, self.sample);
        let message = self.message.with_seed(rng.purpose(key_of("object")));
        let in_cell = self.link().cell.as_ref();
        // The cell needs some time until other devices load it as they will later.
        let before = in_cell.map_or(Duration::ZERO, |cell| first_start(cell, self.rng()));
        let at = Instant::START + before + START_GAP * self.sample;
        let remote = self.server();
        let address = simulated_address(self.place(), options.ipv6).unwrap_or(remote.ip());
        Ok(Device {
            // The host's random numbers depend on its number, which must not depend on other cells.
            host: NUMBER,
            local: SocketAddr::new(address, 0),
            remote,
            transport: stack.transport(),
            endpoint: Client::new(&message, &config, &channels)?,
            script: Sampler::new(timing(options, planned, at)),
        })
    }

    /// The number of the device's address, unique in the run as long as there are enough addresses.
    fn place(&self) -> HostIndex {
        let before = self.index as u64 * u64::from(self.options.samples);
        let number = (before + u64::from(self.sample)) % u64::from(MAX_SIMULATED_DEVICES);
        HostIndex::try_from(number).unwrap_or_default()
    }

    fn service(&self) -> Result<Service<Server>, SimulationError> {
        let (options, planned) = (self.options, self.planned);
        let rng = self.rng().purpose(key_of("server secrets"));
        let channels = channel_options(options, self.mtu());
        let channels = ServerChannels::simulated(self.credentials.clone(), channels, 1, rng);
        let seed = self.rng().purpose(key_of("server")).next_u64();
        let endpoint = Server::new(planned.stack, Clients::Devices, &channels, seed);
        Ok(Service {
            address: self.server(),
            transport: planned.stack.transport(),
            endpoint: endpoint.map_err(SimulationError::Server)?,
        })
    }

    fn server(&self) -> SocketAddr {
        SocketAddr::new(server_address(self.options.ipv6), self.planned.stack.port())
    }
}

/// A world that has ended.
struct Ended {
    devices: Vec<DeviceReport<Sampler>>,
    flows: Vec<(u16, FlowReport)>,
    records: Vec<Record>,
}

/// The link of the only device. It is cut when the simulation must stop, so that the device soon gives up.
struct OnlyLink<'a> {
    link: Link,
    stopped: &'a AtomicBool,
}

impl Links for OnlyLink<'_> {
    fn link(&mut self, _: HostIndex) -> Option<&mut dyn Path> {
        if self.stopped.load(Ordering::Relaxed) {
            return None;
        }
        Some(&mut self.link)
    }
}
