//! What the dashboard shows, in bounded memory: the counts, the last readings of each sensor, the last two minutes in ticks.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use wirecost_proto::{Instant, PeerText};
use wirecost_store::keeper::Counts;

use super::reading::{Present, Reading};

/// The most sensors. Readings of further topics are counted together.
const SENSORS: usize = 4_096;
/// The longest topic of a sensor, in bytes.
const TOPIC_BYTES: usize = 512;
/// The last readings of a sensor that are kept.
const POINTS: usize = 64;
/// The last ticks that are kept: two minutes.
const TICKS: usize = 480;

/// The state behind the page.
#[derive(Debug, Default)]
pub(super) struct Board {
    sensors: Vec<Sensor>,
    by_topic: BTreeMap<Arc<str>, usize>,
    /// The sensors with something new since the last tick, without repetition.
    changed: Vec<usize>,
    /// Readings of topics that are no sensors here: too long, or too many.
    unlisted: u64,
    counts: Counts,
    held: usize,
    open: [bool; 2],
    said: String,
    arrived: u64,
    sent: Delays,
    stored: Delays,
    ticks: VecDeque<Tick>,
}

#[derive(Debug)]
struct Sensor {
    topic: PeerText,
    readings: u64,
    shown: String,
    points: VecDeque<Point>,
    /// How many of the points are new since the last tick.
    fresh: usize,
    stored_ms: Option<f32>,
    is_changed: bool,
    is_new: bool,
}

/// A reading: its arrival, its number, and the time from sending to arrival.
#[derive(Clone, Copy, Debug, Serialize)]
struct Point(u64, Option<f32>, Option<f32>);

/// A tick: its time, the readings that arrived in it, mean and longest delay from sending to arrival and from arrival to the
/// store's acknowledgement.
#[derive(Clone, Copy, Debug, Serialize)]
struct Tick(u64, u64, Option<[f32; 2]>, Option<[f32; 2]>);

/// Mean and maximum.
#[derive(Clone, Copy, Debug, Default)]
struct Delays {
    count: u64,
    sum_ms: f64,
    max_ms: f64,
}

impl Delays {
    fn add(&mut self, ms: f64) {
        self.count += 1;
        self.sum_ms += ms;
        self.max_ms = self.max_ms.max(ms);
    }

    fn take(&mut self) -> Option<[f32; 2]> {
        let Self {
            count,
            sum_ms,
            max_ms,
        } = std::mem::take(self);
        (count > 0).then(|| [rounded(sum_ms / count as f64), rounded(max_ms)])
    }
}

/// What listeners get: all, or what is new since the last tick. Times are milliseconds, `at` those since the start.
#[derive(Debug, Serialize)]
pub(super) struct News {
    at: u64,
    /// Received, stored, refused, lost, held, sent again, set aside, delivered again.
    counts: [u64; 8],
    /// Whether broker and store are open.
    open: [bool; 2],
    said: String,
    unlisted: u64,
    ticks: Vec<Tick>,
    sensors: Vec<SensorNews>,
}

/// A sensor: its index, its readings, the text of the last one, its delay from arrival to acknowledgement, its points, and its
/// topic where the listener does not know it.
#[derive(Debug, Serialize)]
struct SensorNews(u32, u64, String, Option<f32>, Vec<Point>, Option<String>);

impl Board {
    /// A reading has arrived.
    pub(super) fn arrived(&mut self, topic: &str, payload: &[u8], at: Instant, present: Present) {
        // Before the sensor: the total also has those that are not listed.
        self.arrived += 1;
        let reading = Reading::from_payload(payload, present);
        let sent_ms = reading.sent_ago_ns.map(|ns| ns as f64 / 1e6);
        if let Some(ms) = sent_ms {
            self.sent.add(ms);
        }
        let Some(index) = self.sensor(topic) else {
            self.unlisted += 1;
            return;
        };
        let sensor = &mut self.sensors[index];
        sensor.readings += 1;
        sensor.shown = reading.shown;
        if sensor.points.len() == POINTS {
            sensor.points.pop_front();
        }
        // Half the memory, and a curve of a few pixels shows no more; one that is too large for it is infinite, which JSON cannot say.
        let number = reading.number.map(|number| number as f32);
        let point = Point(millis(at), number.filter(|n| n.is_finite()), sent_ms.map(rounded));
        sensor.points.push_back(point);
        sensor.fresh = (sensor.fresh + 1).min(POINTS);
        self.change(index);
    }

    /// The store has acknowledged a reading, this long after its arrival.
    pub(super) fn stored(&mut self, topic: &str, after: Duration) {
        let ms = after.as_secs_f64() * 1e3;
        self.stored.add(ms);
        if let Some(&index) = self.by_topic.get(topic) {
            self.sensors[index].stored_ms = Some(rounded(ms));
            self.change(index);
        }
    }

    /// The counts, and whether broker and store are open.
    pub(super) fn counted(&mut self, counts: Counts, held: usize, open: [bool; 2]) {
        (self.counts, self.held, self.open) = (counts, held, open);
    }

    /// Something was said to the person at the terminal.
    pub(super) fn says(&mut self, text: &str) {
        text.clone_into(&mut self.said);
    }

    /// Ends a tick; what is new since the last one.
    pub(super) fn tick(&mut self, at: Instant) -> News {
        let arrived = std::mem::take(&mut self.arrived);
        let tick = Tick(millis(at), arrived, self.sent.take(), self.stored.take());
        if self.ticks.len() == TICKS {
            self.ticks.pop_front();
        }
        self.ticks.push_back(tick);
        let changed = std::mem::take(&mut self.changed);
        let sensors = changed.iter().map(|&index| {
            let sensor = &mut self.sensors[index];
            sensor.is_changed = false;
            let is_new = std::mem::take(&mut sensor.is_new);
            let fresh = std::mem::take(&mut sensor.fresh);
            sensor.news(index, fresh, is_new)
        });
        let sensors = sensors.collect();
        self.news(at, vec![tick], sensors)
    }

    /// Everything, for a listener that knows nothing. It belongs behind a [`Board::tick`].
    pub(super) fn whole(&self, at: Instant) -> News {
        let sensors = self.sensors.iter().enumerate();
        let sensors = sensors.map(|(index, sensor)| sensor.news(index, POINTS, true));
        self.news(at, self.ticks.iter().copied().collect(), sensors.collect())
    }

    fn news(&self, at: Instant, ticks: Vec<Tick>, sensors: Vec<SensorNews>) -> News {
        let Counts {
            received,
            stored,
            refused,
            set_aside,
            lost,
            resent,
            redelivered,
        } = self.counts;
        News {
            at: millis(at),
            counts: [
                received,
                stored,
                refused,
                lost,
                self.held as u64,
                resent,
                set_aside,
                redelivered,
            ],
            open: self.open,
            said: self.said.clone(),
            unlisted: self.unlisted,
            ticks,
            sensors,
        }
    }

    /// The index of the topic's sensor; `None` if there is no room for it.
    fn sensor(&mut self, topic: &str) -> Option<usize> {
        if let Some(&index) = self.by_topic.get(topic) {
            return Some(index);
        }
        // Topics come from devices: one that makes up new ones would fill the memory and the page.
        if self.sensors.len() == SENSORS || topic.len() > TOPIC_BYTES {
            return None;
        }
        self.sensors.push(Sensor {
            topic: PeerText::new(topic),
            readings: 0,
            shown: String::new(),
            points: VecDeque::new(),
            fresh: 0,
            stored_ms: None,
            is_changed: false,
            is_new: true,
        });
        let index = self.sensors.len() - 1;
        self.by_topic.insert(topic.into(), index);
        Some(index)
    }

    fn change(&mut self, index: usize) {
        if !std::mem::replace(&mut self.sensors[index].is_changed, true) {
            self.changed.push(index);
        }
    }
}

impl Sensor {
    fn news(&self, index: usize, points: usize, is_new: bool) -> SensorNews {
        let skipped = self.points.len().saturating_sub(points);
        SensorNews(
            index as u32,
            self.readings,
            self.shown.clone(),
            self.stored_ms,
            self.points.iter().skip(skipped).copied().collect(),
            is_new.then(|| self.topic.as_str().to_owned()),
        )
    }
}

fn millis(at: Instant) -> u64 {
    at.as_nanos() / 1_000_000
}

/// Milliseconds with microseconds.
fn rounded(ms: f64) -> f32 {
    ((ms * 1e3).round() / 1e3) as f32
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    const PRESENT: Present = Present {
        monotonic_ns: 0,
        unix_ns: 0,
    };

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    fn told(news: &News) -> Value {
        serde_json::to_value(news).expect("JSON")
    }

    #[test]
    fn a_tick_has_what_is_new_and_all_has_what_is_kept() {
        let mut board = Board::default();
        board.arrived("a", b"1", at(10), PRESENT);
        board.arrived("b", b"x", at(20), PRESENT);
        board.stored("a", Duration::from_micros(1_500));
        let first = told(&board.tick(at(250)));
        assert_eq!(
            first["sensors"],
            json!([
                [0, 1, "1", 1.5, [[10, 1.0, null]], "a"],
                [1, 1, "x", null, [[20, null, null]], "b"]
            ])
        );
        assert_eq!(first["ticks"], json!([[250, 2, null, [1.5, 1.5]]]));
        board.arrived("a", b"2", at(260), PRESENT);
        let second = told(&board.tick(at(500)));
        assert_eq!(
            second["sensors"],
            json!([[0, 2, "2", 1.5, [[260, 2.0, null]], null]])
        );
        assert_eq!(told(&board.tick(at(750)))["sensors"], json!([]));
        let whole = told(&board.whole(at(750)));
        assert_eq!(
            whole["sensors"][0],
            json!([0, 2, "2", 1.5, [[10, 1.0, null], [260, 2.0, null]], "a"])
        );
        assert_eq!(whole["ticks"].as_array().map(Vec::len), Some(3));
    }

    #[test]
    fn memory_is_bounded_in_points_ticks_topics_and_their_lengths() {
        let mut board = Board::default();
        for number in 0..1_000 {
            board.arrived("a", b"1", at(number), PRESENT);
            board.tick(at(number));
        }
        let whole = told(&board.whole(at(1_000)));
        assert_eq!(whole["sensors"][0][4].as_array().map(Vec::len), Some(POINTS));
        assert_eq!(whole["ticks"].as_array().map(Vec::len), Some(TICKS));
        board.arrived(&"t".repeat(TOPIC_BYTES + 1), b"1", at(0), PRESENT);
        for number in 0..SENSORS {
            board.arrived(&format!("s/{number}"), b"1", at(0), PRESENT);
        }
        assert_eq!((board.sensors.len(), board.unlisted), (SENSORS, 2));
        // Between two ticks, too.
        for _ in 0..1_000 {
            board.arrived("a", b"1", at(0), PRESENT);
        }
        assert_eq!(board.changed.len(), SENSORS);
        let news = told(&board.tick(at(0)));
        let mut sensors = news["sensors"].as_array().expect("sensors").iter();
        let first = sensors.find(|sensor| sensor[0] == 0).expect("the first sensor");
        assert_eq!(first[4].as_array().map(Vec::len), Some(POINTS));
    }
}
