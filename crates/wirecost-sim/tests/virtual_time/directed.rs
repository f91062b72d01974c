//! One director for all devices of a world, as for those of a loop on kernel sockets.

use std::time::Duration;

use crate::common::{Arrivals, OwnLinks, Talker, delay, device, end, service, settings};
use wirecost_proto::bare::{Client, ClientCommand, ClientEvent, Transport};
use wirecost_proto::director::{Director, Due};
use wirecost_proto::driver::Device;
use wirecost_proto::script::{Context, Step};
use wirecost_proto::{Content, Instant, ResetReason};
use wirecost_sim::World;

/// Lets device after device connect and send, one every 10 ms, and ends each once it is told that its message is sent.
#[derive(Debug)]
struct OneByOne {
    stages: Vec<Stage>,
    named: usize,
    /// When each device was sent.
    sent: Vec<Instant>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Idle,
    Named,
    Connecting,
    Open,
    Sending,
    Sent,
}

const PERIOD: Duration = Duration::from_millis(10);

impl OneByOne {
    fn new(devices: usize) -> Self {
        Self {
            stages: vec![Stage::Idle; devices],
            named: 0,
            sent: vec![Instant::START; devices],
        }
    }
}

impl Director<Client> for OneByOne {
    fn event(&mut self, device: usize, event: ClientEvent, _: Instant) {
        if event == ClientEvent::Opened {
            self.stages[device] = Stage::Open;
        }
    }

    fn failed(&mut self, device: usize, reason: ResetReason, _: Instant) {
        panic!("device {device}: {reason}");
    }

    fn flushed(&mut self, device: usize, now: Instant) -> bool {
        if self.stages[device] == Stage::Sending {
            self.stages[device] = Stage::Sent;
            self.sent[device] = now;
        }
        true
    }

    fn next(&mut self, device: usize, _: Context) -> Step<ClientCommand> {
        let (step, stage) = match self.stages[device] {
            Stage::Named => (Step::Connect, Stage::Connecting),
            Stage::Open => {
                let content = Content::from([7; 100].as_slice());
                (
                    Step::Command(ClientCommand::Send { message: 0, content }),
                    Stage::Sending,
                )
            }
            Stage::Sent => (Step::Finished, Stage::Sent),
            stage @ (Stage::Idle | Stage::Connecting | Stage::Sending) => (Step::Wait(None), stage),
        };
        self.stages[device] = stage;
        step
    }

    fn due(&mut self, now: Instant) -> Due {
        let at = Instant::START + PERIOD * self.named as u32;
        if self.named == self.stages.len() {
            return Due::Later(None);
        }
        if now < at {
            return Due::Later(Some(at));
        }
        self.stages[self.named] = Stage::Named;
        self.named += 1;
        Due::Device(self.named - 1)
    }
}

#[test]
fn a_director_schedules_its_devices() {
    let without_script = |device: Device<Client, Talker>| device.apart().0;
    let devices = (0..3).map(|host| device(host, Transport::Stream, Talker::default()));
    let links = OwnLinks::new(3, delay(5), 1);
    let world = World::directed(
        settings(),
        devices.map(without_script).collect(),
        OneByOne::new(3),
        vec![service(Transport::Stream, false)],
        links,
        (),
        Arrivals::default(),
    );
    let (finished, director) = world.run_directed(end());
    assert!(finished.devices.iter().all(|device| device.finished));
    // Each is open a round trip after it was named, and sends at once.
    let expected: Vec<Instant> = (1..=3).map(|number| Instant::START + PERIOD * number).collect();
    assert_eq!(director.sent, expected);
}
