//! Random access: occasions, preambles, collisions, back-off, change of level (TS 36.321 section 5.1).

use wirecost_proto::Direction;

use super::{AirEvent, Channel, Event, LossCause, Message, Network, OnAir};
use crate::cell::{Preamble, Response};
use crate::nprach::detection_probability;
use crate::subframe::{Interval, Subframe};
use crate::ue::{Access, Purpose, RrcState, Ue, UeId};

/// Subframes from the end of a preamble to the response window (TS 36.321 section 5.1.4).
const WINDOW_GAP: u64 = 4;

/// The same for preambles of 64 and more repetitions.
const WINDOW_GAP_LONG: u64 = 41;

/// Repetitions from which the long gap holds.
const LONG_FROM: u16 = 64;

/// Subframes from the end of a preamble of some repetitions to the response window.
pub(super) const fn window_gap(repetitions: u16) -> u64 {
    match repetitions >= LONG_FROM {
        true => WINDOW_GAP_LONG,
        false => WINDOW_GAP,
    }
}

impl Network {
    /// Begins a random access, unless one is under way.
    pub(super) fn begin_access(&mut self, ue: UeId, purpose: Purpose, now: Subframe) {
        let slept = self.ues.get(ue).map_or(0, |device| self.slept(device, now));
        let Some(device) = self.ues.get_mut(ue) else {
            return;
        };
        if device.access.is_some() {
            return;
        }
        device.counters.asleep += slept;
        if device.rrc == RrcState::Idle {
            device.rrc = RrcState::Connecting;
            device.active_since = now;
            if let Some(timer) = self.config.rrc.connection_timer_ms {
                let at = now + u64::from(timer);
                self.events.push(at, Event::ConnectionTimer { ue, since: now });
            }
        }
        device.level = device.first_level;
        device.access_serial += 1;
        device.access = Some(Access {
            purpose,
            serial: device.access_serial,
            started: now,
            joined: now,
            preambles: 0,
            level_preambles: 0,
        });
        let serial = device.access_serial;
        self.start_access(ue, serial, now);
    }

    /// The device waits for the next NPRACH occasion of its level.
    pub(super) fn start_access(&mut self, ue: UeId, serial: u32, now: Subframe) {
        let Some(device) = self.ues.get_mut(ue) else {
            return;
        };
        let (cell, level) = (device.cell(), device.level);
        let Some(access) = device.access_with(serial) else {
            return;
        };
        access.joined = now;
        let occasion = self.levels[level].nprach.next(now);
        let here = &mut self.cells[cell].levels[level];
        here.waiting.push((ue, serial));
        if here.occasion_at.is_none() {
            here.occasion_at = Some(occasion);
            let (cell, level) = (cell as u16, level as u8);
            self.events.push(occasion, Event::Occasion { cell, level });
        }
    }

    /// An NPRACH occasion: every device that waits picks a subcarrier.
    pub(super) fn send_preambles(&mut self, cell: usize, level: usize, now: Subframe) {
        let nprach = self.levels[level].nprach;
        let here = &mut self.cells[cell].levels[level];
        here.occasion_at = None;
        for (ue, serial) in std::mem::take(&mut here.waiting) {
            let Some(device) = self.ues.get_mut(ue) else {
                continue;
            };
            let gain = device.gain();
            let Some(access) = device.access.as_mut().filter(|access| access.serial == serial) else {
                continue;
            };
            access.preambles += 1;
            access.level_preambles += 1;
            device.counters.preambles += 1;
            device.counters.nprach += nprach.length;
            device.counters.occasion_wait += now.since(access.joined);
            let subcarrier = device.rng.next_below(nprach.subcarriers);
            let preamble = Preamble {
                ue,
                serial,
                subcarrier,
                gain,
            };
            here.preambles.push(preamble);
        }
        if !here.preambles.is_empty() {
            let (cell, level) = (cell as u16, level as u8);
            self.events
                .push(now + nprach.length, Event::PreambleEnd { cell, level });
        }
    }

    /// The preambles have ended: those that the cell detects wait for a response.
    pub(super) fn detect_preambles(&mut self, cell: usize, level: usize, now: Subframe) {
        let channels = self.levels[level];
        let from = now + window_gap(channels.nprach.repetitions);
        let until = from + u64::from(channels.config.rar_window_pp) * channels.space.period;
        let preambles = std::mem::take(&mut self.cells[cell].levels[level].preambles);
        let mut is_any = false;
        for preamble in &preambles {
            let Preamble { ue, serial, .. } = *preamble;
            let wins = self.wins_subcarrier(preamble, &preambles);
            let snr = self.radio.preamble_snr(preamble.gain);
            let probability =
                detection_probability(&self.config.random_access, snr, channels.nprach.repetitions);
            let Some(device) = self.ues.get_mut(ue) else {
                continue;
            };
            let is_detected = device.rng.next_f64() < probability;
            device.counters.collisions += u32::from(!wins);
            self.events.push(until, Event::AccessTimer { ue, serial });
            let on_air = Interval::new(now - channels.nprach.length, now);
            let repetitions = channels.nprach.repetitions.into();
            let on_air = OnAir::new(Channel::Nprach, Message::Preamble, on_air, repetitions);
            self.note(ue, on_air, wins && is_detected);
            if wins && is_detected {
                is_any = true;
                let response = Response {
                    ue,
                    serial,
                    from,
                    until,
                };
                self.cells[cell].levels[level].responses.push_back(response);
            }
        }
        if is_any {
            self.wake(cell, level, from);
        }
    }

    /// Whether a preamble is alone on its subcarrier, or strong enough to be detected in spite of the others.
    fn wins_subcarrier(&self, preamble: &Preamble, all: &[Preamble]) -> bool {
        let others = all
            .iter()
            .filter(|other| other.subcarrier == preamble.subcarrier && other.ue != preamble.ue);
        let strongest = others.map(|other| other.gain).fold(0.0, f64::max);
        strongest == 0.0
            || self
                .capture_ratio()
                .is_some_and(|ratio| preamble.gain >= strongest * ratio)
    }

    /// No response or no contention resolution in time.
    pub(super) fn handle_access_timer(&mut self, ue: UeId, serial: u32, now: Subframe) {
        let random_access = &self.config.random_access;
        let give_up = u64::from(random_access.give_up_ms);
        let (max_preambles, backoff) = (random_access.max_preambles, u64::from(random_access.backoff_ms));
        let Some(device) = self.ues.get_mut(ue) else {
            return;
        };
        let (level, first_level) = (device.level, device.first_level);
        let next_serial = device.access_serial + 1;
        let Some(access) = device.access_with(serial) else {
            return;
        };
        access.serial = next_serial;
        // Without an answer to preconfigured data the device makes a random access, at once.
        let was_preconfigured = access.purpose == Purpose::Preconfigured;
        if was_preconfigured {
            access.purpose = Purpose::Connect;
        }
        if now.since(access.started) >= give_up {
            return self.fail(ue, LossCause::NoAccess, now);
        }
        let mut next_level = level;
        if access.preambles >= max_preambles {
            // The procedure has failed; the upper layer starts it again.
            (access.preambles, access.level_preambles) = (0, 0);
            next_level = first_level;
        } else if access.level_preambles >= self.levels[level].config.max_attempts && level < 2 {
            access.level_preambles = 0;
            next_level = level + 1;
        }
        device.access_serial = next_serial;
        device.level = next_level;
        device.block = None;
        device.msg4 = None;
        device.granted = 0;
        if device.rrc == RrcState::Connecting {
            device.up.reset();
            device.down.reset();
        }
        let wait = match was_preconfigured {
            true => 0,
            false => device.rng.next_below(backoff + 1),
        };
        if device.rrc == RrcState::Connecting && std::mem::take(&mut device.is_admitted) {
            self.cells[device.serving()].connections -= 1;
        }
        self.events.push(
            now + wait,
            Event::AccessStart {
                ue,
                serial: next_serial,
            },
        );
    }

    /// The device must have a connection by now (TS 36.331 section 5.3.3.6, T300).
    pub(super) fn handle_connection_timer(&mut self, ue: UeId, since: Subframe, now: Subframe) {
        let is_late = |device: &Ue| device.rrc == RrcState::Connecting && device.active_since == since;
        if self.ues.get(ue).is_some_and(is_late) {
            self.fail(ue, LossCause::NoAccess, now);
        }
    }

    /// The link of a device has failed, or it got none: its packets are lost, and it is idle.
    pub(super) fn fail(&mut self, ue: UeId, cause: LossCause, now: Subframe) {
        let Some(device) = self.ues.get_mut(ue) else {
            return;
        };
        let at = now.instant();
        let lost = [
            (Direction::Up, device.up.sender.clear()),
            (Direction::Down, device.down.sender.clear()),
        ];
        for (direction, tokens) in lost {
            self.outbox.extend(tokens.into_iter().map(|token| AirEvent::Lost {
                ue,
                direction,
                token,
                at,
                cause,
            }));
        }
        self.become_idle(ue, now);
    }
}
