//! Devices on the emulated link, each with a script of its own.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use wirecost_proto::director::{Director, Due};
use wirecost_proto::driver::{Device, DeviceReport};
use wirecost_proto::script::{Context, Script, Step};
use wirecost_proto::{Endpoint, Instant, ResetReason};

use super::super::Stopper;
use super::setting::Noted;
use super::slot::{Slot, Target};
use super::{ClientLoop, OnLink};
use crate::activity::Activity;
use crate::clock::Clock;

/// A director of devices that have a script each, and nothing to do with one another.
#[derive(Debug)]
pub struct Scripts<S> {
    scripts: Vec<S>,
    /// Devices that have been told to begin.
    begun: usize,
    /// Why endpoints have ended, by device.
    errors: BTreeMap<usize, String>,
}

impl<S> Scripts<S> {
    /// A director for devices with these scripts, in their order.
    pub fn new(scripts: Vec<S>) -> Self {
        Self {
            scripts,
            begun: 0,
            errors: BTreeMap::new(),
        }
    }
}

impl<E: Endpoint, S: Script<E>> Director<E> for Scripts<S> {
    fn event(&mut self, device: usize, event: E::Event, now: Instant) {
        self.scripts[device].event(event, now);
    }

    fn failed(&mut self, device: usize, reason: ResetReason, now: Instant) {
        self.scripts[device].failed(reason, now);
    }

    fn sent(&mut self, device: usize, now: Instant) -> bool {
        self.scripts[device].sent(now);
        true
    }

    fn next(&mut self, device: usize, context: Context) -> Step<E::Command> {
        self.scripts[device].next(context)
    }

    /// Every device is to begin; from then on each waits for something or for a time.
    fn due(&mut self, _: Instant) -> Due {
        if self.begun == self.scripts.len() {
            return Due::Later(None);
        }
        self.begun += 1;
        Due::Device(self.begun - 1)
    }

    fn woken(&mut self, _: Instant) -> ControlFlow<()> {
        ControlFlow::Break(())
    }

    fn ended(&mut self, device: usize, error: &dyn Display, _: Instant) {
        self.errors.insert(device, error.to_string());
    }
}

impl<E, S> ClientLoop<E, Scripts<S>, OnLink>
where
    E: Endpoint<Error: Display>,
    S: Script<E>,
{
    /// The same, keeping the datagrams of a flow's direction in so many bytes of memory: strangers may send them. There is no
    /// bound unless told otherwise.
    #[must_use]
    pub const fn with_bounded_logs(mut self, bytes: usize) -> Self {
        self.setting.log_bytes = bytes;
        self
    }

    /// A loop over `devices`.
    ///
    /// # Errors
    /// The kernel has no poll instance, timer or event to give.
    pub fn new(devices: Vec<Device<E, S>>, clock: Clock, activity: Arc<Activity>) -> io::Result<Self> {
        let (mut slots, mut targets) = (Vec::with_capacity(devices.len()), Vec::new());
        let (mut noted, mut scripts) = (Vec::with_capacity(devices.len()), Vec::new());
        for device in devices {
            let target = Target {
                remote: device.remote,
                transport: device.transport,
            };
            slots.push(Slot::new(device.endpoint, target, &mut targets));
            noted.push(Noted {
                host: device.host,
                local: device.local,
                logs: Vec::new(),
                cpu: Duration::ZERO,
            });
            scripts.push(device.script);
        }
        let setting = OnLink {
            activity,
            devices: noted,
            log_bytes: usize::MAX,
            lap: Duration::ZERO,
        };
        Self::build(slots, targets, Scripts::new(scripts), clock, setting)
    }

    /// Wakes the loop to stop it, from any thread.
    pub fn stopper(&self) -> Stopper {
        self.waker()
    }

    /// Runs until every device is finished or the stopper wakes it.
    ///
    /// # Errors
    /// Polling failed.
    pub fn run(mut self) -> io::Result<Vec<DeviceReport<S>>> {
        self.run_to_end()?;
        let Scripts {
            scripts, mut errors, ..
        } = self.director;
        let devices = self.setting.devices.into_iter().zip(scripts).zip(self.slots);
        let reports = devices
            .enumerate()
            .map(|(index, ((noted, script), slot))| DeviceReport {
                host: noted.host,
                script,
                finished: slot.is_finished,
                logs: noted.logs,
                cpu: noted.cpu,
                error: errors.remove(&index),
            });
        Ok(reports.collect())
    }
}
