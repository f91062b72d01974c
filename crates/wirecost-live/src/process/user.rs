//! The user that a server runs as: never user 0 of this machine.
//!
//! | who calls | the server is, for this machine | and in its own eyes |
//! |---|---|---|
//! | root | a user of its own: a number that no account has, drawn for this server | the same, without a capability |
//! | an ordinary user, who is root of a user namespace of wirecost | that user | `nobody`, in a user namespace within it |
//! | an ordinary user with the right to make namespaces | that user | that user |

use std::fs;
use std::ops::RangeInclusive;
use std::os::unix::fs::MetadataExt as _;

use wirecost_files::system;
use wirecost_security::entropy::Entropy;

use super::usage::processes;
use crate::environment::effective_capabilities;
use crate::error::EnvironmentError;
use crate::sys;

/// Numbers that no convention gives to anybody: above those of containers, below the sign bit of 32 bits (systemd, "Users, Groups,
/// UIDs and GIDs on systemd systems").
const UNUSED: RangeInclusive<u32> = 0x7000_0000..=0x7fff_fffe;
/// The same where there are no more than 65,536 numbers, as in many containers.
const UNUSED_OF_FEW: RangeInclusive<u32> = 60_578..=61_183;
/// The number of the account `nobody`, which programs find in /etc/passwd.
const NOBODY: u32 = 65_534;
/// How often a number is drawn that a process has already.
const DRAWS: usize = 100;

/// The user that a server runs as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerUser {
    /// A user and a group of its own, with this number.
    Own(u32),
    /// The user who called, as `nobody` of a further user namespace.
    Nested {
        /// The caller's numbers in the user namespace that wirecost is root of.
        outside: [u32; 2],
    },
    /// The user who called.
    Caller,
}

/// What decides who a server can be.
#[derive(Clone, Debug)]
struct Situation {
    user: u32,
    group: u32,
    /// Whether this process may become any user, and give files to it.
    may_change: bool,
    /// The numbers that exist here, and those that they are outside: `uid_map` and `gid_map` of user_namespaces(7).
    users: Vec<Extent>,
    groups: Vec<Extent>,
}

/// One line of a map: so many numbers, from `inside` on, are those from `outside` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Extent {
    inside: u32,
    outside: u32,
    count: u32,
}

impl Extent {
    fn holds(self, number: u32) -> bool {
        number >= self.inside && number - self.inside < self.count
    }
}

impl ServerUser {
    /// Who a server of this process can be.
    ///
    /// # Errors
    /// [`EnvironmentError::OnlyRoot`] if it could only be user 0 of the machine; no random number.
    pub fn choose() -> Result<Self, EnvironmentError> {
        let situation = Situation::read();
        let draw = |range: &RangeInclusive<u32>| {
            let mut drawn = (0..DRAWS).map(|_| random_of(range));
            drawn.find(|number| !number.as_ref().is_ok_and(|number| is_running(*number)))
        };
        match situation.possible() {
            Possible::Own(range) => match draw(&range) {
                Some(number) => number.map(Self::Own),
                None => Err(EnvironmentError::OnlyRoot),
            },
            Possible::Nested => Ok(Self::Nested {
                outside: [situation.user, situation.group],
            }),
            Possible::Caller => Ok(Self::Caller),
            Possible::OnlyRoot => Err(EnvironmentError::OnlyRoot),
        }
    }

    /// A sentence about who servers run as here.
    ///
    /// # Errors
    /// As [`Self::choose`].
    pub fn described() -> Result<String, EnvironmentError> {
        let situation = Situation::read();
        let mine = situation.outside();
        match situation.possible() {
            Possible::Own(range) => Ok(format!(
                "each as a user of its own, with a number from {} to {} that no account has",
                range.start(),
                range.end()
            )),
            Possible::Nested => Ok(format!("as user {mine}, which is you, in a user namespace")),
            Possible::Caller => Ok(format!("as user {mine}, which is you")),
            Possible::OnlyRoot => Err(EnvironmentError::OnlyRoot),
        }
    }

    /// The number that its files must have, if that is not the caller's.
    pub(crate) const fn owner(self) -> Option<u32> {
        match self {
            Self::Own(number) => Some(number),
            Self::Nested { .. } | Self::Caller => None,
        }
    }

    /// Its numbers as the server sees them, and as wirecost does: a line of `uid_map` and of `gid_map`.
    pub(crate) fn maps(self) -> Option<[String; 2]> {
        match self {
            Self::Nested { outside } => Some(outside.map(|outside| format!("{NOBODY} {outside} 1"))),
            Self::Own(_) | Self::Caller => None,
        }
    }
}

/// Whether this process is user 0 of the machine, as far as it can tell: a command that it starts as itself is then, too.
pub fn is_root() -> bool {
    Situation::read().outside() == 0
}

enum Possible {
    Own(RangeInclusive<u32>),
    Nested,
    Caller,
    OnlyRoot,
}

impl Situation {
    fn read() -> Self {
        // capabilities(7): CAP_CHOWN, CAP_SETGID and CAP_SETUID.
        const NEEDED: u64 = 1 | 1 << 6 | 1 << 7;
        let (user, group) = sys::user_and_group();
        let map = |name: &str| extents(&system::text(format!("/proc/self/{name}")).unwrap_or_default());
        let status = system::text("/proc/self/status").unwrap_or_default();
        Self {
            user,
            group,
            may_change: effective_capabilities(&status) & NEEDED == NEEDED,
            users: map("uid_map"),
            groups: map("gid_map"),
        }
    }

    fn possible(&self) -> Possible {
        if self.user != 0 {
            return Possible::Caller;
        }
        let exists =
            |number| [&self.users, &self.groups].map(|map| map.iter().any(|line| line.holds(number)));
        let whole = |range: &RangeInclusive<u32>| {
            exists(*range.start()) == [true; 2] && exists(*range.end()) == [true; 2]
        };
        let own = [UNUSED, UNUSED_OF_FEW].into_iter().find(whole);
        match own.filter(|_| self.may_change) {
            Some(range) => Possible::Own(range),
            None if self.outside() != 0 => Possible::Nested,
            None => Possible::OnlyRoot,
        }
    }

    /// The number of this process's user outside of its user namespace.
    fn outside(&self) -> u32 {
        let line = self.users.iter().find(|line| line.holds(self.user));
        line.map_or(self.user, |line| line.outside + (self.user - line.inside))
    }
}

fn extents(map: &str) -> Vec<Extent> {
    let extent = |line: &str| {
        let mut numbers = line.split_whitespace().map_while(|word| word.parse().ok());
        Some(Extent {
            inside: numbers.next()?,
            outside: numbers.next()?,
            count: numbers.next()?,
        })
    };
    map.lines().filter_map(extent).collect()
}

/// A random number of a range.
fn random_of(range: &RangeInclusive<u32>) -> Result<u32, EnvironmentError> {
    let mut bytes = [0; 4];
    Entropy::system()
        .fill(&mut bytes)
        .map_err(|_| EnvironmentError::NoRandomness)?;
    Ok(range.start() + u32::from_le_bytes(bytes) % (range.end() - range.start() + 1))
}

/// Whether a process of this user runs.
fn is_running(user: u32) -> bool {
    let mut pids = processes().into_iter().flatten();
    pids.any(|pid| fs::metadata(format!("/proc/{pid}")).is_ok_and(|found| found.uid() == user))
}

/// A secret of letters and digits, made for the run: 128 bits.
pub(crate) fn secret() -> Result<String, EnvironmentError> {
    let mut bytes = [0; 16];
    Entropy::system()
        .fill(&mut bytes)
        .map_err(|_| EnvironmentError::NoRandomness)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn situation(user: u32, may_change: bool, map: &str) -> Situation {
        Situation {
            user,
            group: user,
            may_change,
            users: extents(map),
            groups: extents(map),
        }
    }

    #[test]
    fn a_server_of_root_has_a_number_that_no_account_has() {
        let root = situation(0, true, "         0          0 4294967295\n");
        assert!(matches!(root.possible(), Possible::Own(range) if range == UNUSED));
        let in_a_container = situation(0, true, "0 1000 1\n1 100000 65535\n");
        assert!(matches!(in_a_container.possible(), Possible::Own(range) if range == UNUSED_OF_FEW));
    }

    #[test]
    fn a_server_of_an_ordinary_user_is_that_user() {
        let own_namespace = situation(0, true, "0 1000 1\n");
        assert!(matches!(own_namespace.possible(), Possible::Nested));
        assert_eq!(own_namespace.outside(), 1000);
        let no_namespace = situation(1000, false, "0 0 4294967295\n");
        assert!(matches!(no_namespace.possible(), Possible::Caller));
    }

    #[test]
    fn root_that_can_be_nobody_else_starts_no_server() {
        for (may_change, map) in [(true, "0 0 1\n"), (false, "0 0 4294967295\n"), (true, "")] {
            let possible = situation(0, may_change, map).possible();
            assert!(matches!(possible, Possible::OnlyRoot), "{may_change} {map}");
        }
    }

    #[test]
    fn a_number_is_of_its_range_and_drawn_anew() {
        let drawn: Vec<u32> = (0..64).map(|_| random_of(&UNUSED).expect("a number")).collect();
        assert!(drawn.iter().all(|number| UNUSED.contains(number)), "{drawn:?}");
        assert!(drawn.iter().any(|number| *number != drawn[0]), "{drawn:?}");
        assert_ne!(secret().expect("a secret"), secret().expect("a secret"));
    }
}
