//! The energy of this machine, measured by itself: the counters of its processor packages (RAPL), or its battery.
//!
//! The folders are those of sysfs below a root, so that tests can make their own.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use wirecost_files::system;
use wirecost_results::environment::PowerSamples;

/// The time of one sample of power.
const WINDOW: Duration = Duration::from_millis(250);
/// How long the machine is measured before the run, at rest.
const IDLE: Duration = Duration::from_secs(3);
/// Why nothing is measured.
pub const ABSENT: &str = "no RAPL and no battery here";

/// What measures the machine's energy.
#[derive(Clone, Debug)]
pub enum Source {
    /// The counters of the processor packages.
    Rapl(Vec<Zone>),
    /// The battery that supplies the machine.
    Battery(PathBuf),
}

/// A counter of energy that starts again at 0.
#[derive(Clone, Debug)]
pub struct Zone {
    counter: PathBuf,
    /// Microjoules after which it starts again.
    range: u64,
    last: u64,
}

impl Source {
    /// What the machine whose sysfs is below `root` (`/sys`) has.
    ///
    /// # Errors
    /// It has neither, or may not be read; the text says which.
    pub fn find(root: &Path) -> Result<Self, String> {
        let zones: Vec<PathBuf> = entries(&root.join("class/powercap"))
            .into_iter()
            .filter(|path| is_package(path))
            .collect();
        // RAPL first: it counts the package alone, and also on mains. A battery counts display and disk as well.
        if !zones.is_empty() {
            let zones = zones.iter().map(|zone| Zone::open(zone));
            return zones.collect::<Result<_, String>>().map(Self::Rapl);
        }
        let batteries = entries(&root.join("class/power_supply"));
        let battery = batteries
            .into_iter()
            .find(|path| text(&path.join("type")).as_deref() == Some("Battery"));
        let battery = battery.ok_or_else(|| ABSENT.to_owned())?;
        match text(&battery.join("status")).as_deref() {
            // On mains the battery's power is that of charging.
            Some("Discharging") if watts(&battery).is_some() => Ok(Self::Battery(battery)),
            Some("Discharging") => Err("the battery does not report its power".to_owned()),
            _ => Err("no RAPL here, and the battery is not discharging".to_owned()),
        }
    }

    /// Its name in results.
    pub fn name(&self) -> String {
        match self {
            Self::Rapl(zones) => format!(
                "RAPL, {} processor package(s): without memory, disk and network",
                zones.len()
            ),
            Self::Battery(path) => {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                format!("battery {name}: the whole machine")
            }
        }
    }

    /// The mean power since the last call, which was `since` ago, in watts; `None` if it cannot be read.
    fn power(&mut self, since: Duration) -> Option<f64> {
        match self {
            Self::Battery(path) => watts(path),
            Self::Rapl(zones) => {
                let joules = zones.iter_mut().map(Zone::joules).sum::<Option<f64>>()?;
                Some(joules / since.as_secs_f64())
            }
        }
    }
}

impl Zone {
    fn open(folder: &Path) -> Result<Self, String> {
        let counter = folder.join("energy_uj");
        let number = |path: &Path| text(path).and_then(|text| text.parse().ok());
        let refused = || {
            format!(
                "{} cannot be read: the counters of RAPL are for root",
                counter.display()
            )
        };
        Ok(Self {
            last: number(&counter).ok_or_else(refused)?,
            range: number(&folder.join("max_energy_range_uj")).ok_or_else(refused)?,
            counter,
        })
    }

    /// Joules since the last call.
    fn joules(&mut self) -> Option<f64> {
        let now: u64 = text(&self.counter)?.parse().ok()?;
        let spent = match now.checked_sub(self.last) {
            Some(spent) => spent,
            None => now + (self.range.checked_sub(self.last)?),
        };
        self.last = now;
        Some(spent as f64 / 1e6)
    }
}

/// Whether a folder of powercap is a processor package: its parts have two colons, and are in it.
fn is_package(path: &Path) -> bool {
    let name = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    name.matches(':').count() == 1
        && name.starts_with("intel-rapl:")
        && text(&path.join("name")).is_some_and(|name| name.starts_with("package"))
}

/// The power that a battery gives: `power_now`, or voltage x current.
fn watts(battery: &Path) -> Option<f64> {
    let micro = |file: &str| {
        let value: f64 = text(&battery.join(file))?.parse().ok()?;
        Some(value.abs() / 1e6)
    };
    micro("power_now").or_else(|| Some(micro("voltage_now")? * micro("current_now")?))
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    paths.sort();
    paths
}

fn text(path: &Path) -> Option<String> {
    system::text(path).ok().map(|text| text.trim().to_owned())
}

/// Samples the machine's power while something runs.
#[derive(Debug)]
pub struct PowerMeter {
    stop: Arc<AtomicBool>,
    sampler: Option<JoinHandle<Vec<f64>>>,
    samples: PowerSamples,
    began: Instant,
}

impl PowerMeter {
    /// Measures the machine at rest for three seconds, then starts to measure; at once where nothing measures it.
    pub fn start(root: &Path) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let mut samples = PowerSamples::default();
        let sampler = match Source::find(root) {
            Err(why) => {
                samples.not_measured = Some(why);
                None
            }
            Ok(mut source) => {
                samples.source = Some(source.name());
                let until = Instant::now() + IDLE;
                // What the machine uses at rest is subtracted from what the run uses.
                samples.idle_watts = sample(&mut source, &|| Instant::now() >= until);
                let is_over = Arc::clone(&stop);
                Some(thread::spawn(move || {
                    sample(&mut source, &|| is_over.load(Ordering::Relaxed))
                }))
            }
        };
        Self {
            stop,
            sampler,
            samples,
            began: Instant::now(),
        }
    }

    /// What was measured since the start.
    pub fn finish(self) -> PowerSamples {
        self.stop.store(true, Ordering::Relaxed);
        let seconds = self.began.elapsed().as_secs_f64();
        let active_watts = self.sampler.and_then(|sampler| sampler.join().ok());
        PowerSamples {
            active_watts: active_watts.unwrap_or_default(),
            seconds,
            ..self.samples
        }
    }
}

/// One sample of power after the other, until it is over.
fn sample(source: &mut Source, is_over: &dyn Fn() -> bool) -> Vec<f64> {
    let mut watts = Vec::new();
    let mut last = Instant::now();
    // The counters start here.
    source.power(WINDOW);
    while !is_over() {
        thread::sleep(WINDOW);
        let since = last.elapsed();
        last = Instant::now();
        watts.extend(source.power(since));
    }
    watts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, file: &str, text: &str) {
        let path = root.join(file);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(path, text).expect("a file");
    }

    fn package(root: &Path, counter: u64) {
        let zone = "class/powercap/intel-rapl:0";
        write(root, &format!("{zone}/name"), "package-0\n");
        write(root, &format!("{zone}/energy_uj"), &format!("{counter}\n"));
        write(root, &format!("{zone}/max_energy_range_uj"), "1000000000\n");
        write(root, "class/powercap/intel-rapl:0:0/name", "core\n");
        write(root, "class/powercap/intel-rapl:0:0/energy_uj", "5\n");
    }

    #[test]
    fn a_machine_with_neither_says_so() {
        let root = tempfile::tempdir().expect("a folder");
        assert_eq!(Source::find(root.path()).expect_err("nothing"), ABSENT);
        let samples = PowerMeter::start(root.path()).finish();
        assert_eq!(samples.not_measured.as_deref(), Some(ABSENT));
        assert!(samples.idle_watts.is_empty() && samples.active_watts.is_empty());
    }

    #[test]
    fn a_counter_that_starts_again_counts_on() {
        let root = tempfile::tempdir().expect("a folder");
        package(root.path(), 999_000_000);
        let mut source = Source::find(root.path()).expect("RAPL");
        package(root.path(), 999_500_000);
        assert_eq!(source.power(Duration::from_millis(250)), Some(2.0));
        package(root.path(), 1_500_000);
        assert_eq!(source.power(Duration::from_secs(1)), Some(2.0));
        assert!(
            source.name().contains("1 processor package"),
            "a part of a package counts once"
        );
    }

    #[test]
    fn a_battery_counts_while_it_discharges() {
        let root = tempfile::tempdir().expect("a folder");
        let battery = "class/power_supply/BAT0";
        write(root.path(), "class/power_supply/AC/type", "Mains\n");
        write(root.path(), &format!("{battery}/type"), "Battery\n");
        write(root.path(), &format!("{battery}/status"), "Charging\n");
        write(root.path(), &format!("{battery}/voltage_now"), "12000000\n");
        write(root.path(), &format!("{battery}/current_now"), "-500000\n");
        assert!(
            Source::find(root.path())
                .expect_err("charging")
                .contains("not discharging")
        );
        write(root.path(), &format!("{battery}/status"), "Discharging\n");
        let mut source = Source::find(root.path()).expect("a battery");
        assert_eq!(source.power(WINDOW), Some(6.0));
        write(root.path(), &format!("{battery}/power_now"), "7000000\n");
        assert_eq!(source.power(WINDOW), Some(7.0));
    }
}
