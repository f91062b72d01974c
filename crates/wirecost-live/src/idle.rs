//! The sleep of idle CPUs, which delays wake-ups.

use std::fmt;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use wirecost_files::system;

/// The kernel's interface for the latency that a process demands of every CPU
/// (Documentation/power/pm_qos_interface.rst): a 32-bit number of microseconds, for as long as the file is open.
const INTERFACE: &str = "/dev/cpu_dma_latency";

/// The behaviour of idle CPUs during a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IdleCpus {
    /// They waited without sleeping, and woke at once.
    Awake,
    /// They slept as the machine decides: each wake-up may take 0.1 ms longer or more, above all in a virtual machine.
    #[default]
    Asleep,
}

impl fmt::Display for IdleCpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Awake => "awake",
            Self::Asleep => "asleep",
        })
    }
}

/// Keeps idle CPUs awake while it is held, if this process may demand that: root may.
#[derive(Debug)]
pub struct KeepAwake(Option<File>);

impl KeepAwake {
    /// Demands a latency of 0.
    pub fn hold() -> Self {
        Self::through(Path::new(INTERFACE))
    }

    fn through(interface: &Path) -> Self {
        let demanded = system::open(File::options().write(true), interface);
        let demanded = demanded.and_then(|mut file| file.write_all(&0_i32.to_ne_bytes()).map(|()| file));
        Self(demanded.ok())
    }

    /// The state in which the demand has left idle CPUs: awake if it succeeded.
    pub const fn idle_cpus(&self) -> IdleCpus {
        match self.0 {
            Some(_) => IdleCpus::Awake,
            None => IdleCpus::Asleep,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_demand_is_reported() {
        let vigil = KeepAwake::through(Path::new("/nowhere/cpu_dma_latency"));
        assert_eq!(vigil.idle_cpus(), IdleCpus::Asleep);
    }

    #[test]
    fn a_latency_of_0_is_demanded() {
        let path = std::env::temp_dir().join(format!("latency-{}", std::process::id()));
        std::fs::write(&path, b"").expect("a file");
        let vigil = KeepAwake::through(&path);
        let written = std::fs::read(&path).expect("a file");
        std::fs::remove_file(&path).expect("a file");
        assert_eq!(
            (vigil.idle_cpus(), written.as_slice()),
            (IdleCpus::Awake, &[0; 4][..])
        );
    }
}
