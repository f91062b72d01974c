//! Devices on the emulated link, each with its own script.

use std::fmt::Display;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use wirecost_proto::Endpoint;
use wirecost_proto::director::Scripts;
use wirecost_proto::driver::{Device, DeviceReport};
use wirecost_proto::script::Script;

use super::super::Stopper;
use super::setting::Noted;
use super::slot::{Slot, Target};
use super::{ClientLoop, OnLink};
use crate::activity::Activity;
use crate::clock::Clock;

impl<E, S> ClientLoop<E, Scripts<S>, OnLink>
where
    E: Endpoint<Error: Display>,
    S: Script<E>,
{
    /// Limits the logged datagrams of each direction of a flow to this many bytes of memory, because anyone may send
    /// datagrams. Without this call there is no limit.
    #[must_use]
    pub const fn with_bounded_logs(mut self, bytes: usize) -> Self {
        self.setting.log_bytes = bytes;
        self
    }

    /// A loop over `devices`.
    ///
    /// # Errors
    /// The kernel has no poll instance, timer or event left.
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
            clock,
            devices: noted,
            log_bytes: usize::MAX,
            lap: Duration::ZERO,
        };
        Self::build(slots, targets, Scripts::new(scripts), clock, setting)
    }

    /// Wakes the loop from any thread to stop it.
    pub fn stopper(&self) -> Stopper {
        self.waker()
    }

    /// Runs until every device is finished or the stopper wakes it.
    ///
    /// # Errors
    /// Polling failed.
    pub fn run(mut self) -> io::Result<Vec<DeviceReport<S>>> {
        self.run_to_end()?;
        let (scripts, mut errors) = self.director.into_parts();
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
