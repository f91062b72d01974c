//! What a sensor measures.

use serde::Serialize;
use wirecost_proto::Rng;
use wirecost_proto::random::key_of;

/// The sensor: an EUI-64 of the range for documentation (RFC 9542, section 2.1.2), in hexadecimal digits.
pub const SENSOR: &str = "00005efffe005301";
/// The time of the first reading in seconds since 1970: 2026-01-01 00:00:00 UTC.
pub const FIRST_TIME: u64 = 1_767_225_600;
/// The seconds between two readings.
pub const SECONDS_BETWEEN: u64 = 60;

/// A reading of a climate sensor. The order of the fields is that of the encodings.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Reading {
    /// The sensor.
    pub sensor: &'static str,
    /// Seconds since 1970.
    pub time: u64,
    /// Degrees Celsius, in steps of 0.01.
    pub temperature: f64,
    /// Relative humidity in per cent, in steps of 0.5.
    pub humidity: f64,
    /// Charge of the battery in per cent.
    pub battery: u8,
}

/// The first readings of the series that follows from `seed`. A longer series begins with the shorter one.
///
/// Temperature and humidity are random walks between limits; the battery loses one per cent in about 500 readings.
pub fn series(seed: u64, readings: u32) -> Vec<Reading> {
    let mut rng = Rng::new(seed).purpose(key_of("readings"));
    // In the steps of the sensor.
    let mut temperature = 1_800 + rng.next_below(600) as i32;
    let mut humidity = 80 + rng.next_below(40) as i32;
    let mut battery = 100 - rng.next_below(20) as i32;
    let mut series = Vec::with_capacity(readings as usize);
    for index in 0..u64::from(readings) {
        series.push(Reading {
            sensor: SENSOR,
            time: FIRST_TIME + index * SECONDS_BETWEEN,
            temperature: f64::from(temperature) / 100.0,
            humidity: f64::from(humidity) / 2.0,
            battery: battery as u8,
        });
        temperature = (temperature + rng.next_below(13) as i32 - 6).clamp(500, 3_500);
        humidity = (humidity + rng.next_below(3) as i32 - 1).clamp(40, 190);
        battery = (battery - i32::from(rng.next_below(500) == 0)).max(1);
    }
    series
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_longer_series_begins_with_the_shorter_one() {
        let long = series(42, 1_000);
        assert_eq!(series(42, 7), long[..7]);
        assert_ne!(series(43, 7), long[..7]);
        assert_eq!(long[999].time, FIRST_TIME + 999 * 60);
    }

    #[test]
    fn readings_stay_within_the_range_of_a_sensor() {
        for reading in series(1, 20_000) {
            assert!((5.0..=35.0).contains(&reading.temperature), "{reading:?}");
            assert!((20.0..=95.0).contains(&reading.humidity), "{reading:?}");
            assert!((1..=100).contains(&reading.battery), "{reading:?}");
        }
    }
}
