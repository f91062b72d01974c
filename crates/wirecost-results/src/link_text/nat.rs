//! The address translator of a link as text.

use wirecost_link::nat::{MAX_NAT_TIMEOUT, NatTimeouts};

use super::Form;
use crate::value::{ValueError, time};

/// The keys of the time-outs of an address translator.
pub const NAT_KEYS: [&str; 2] = ["udp", "tcp"];

pub(super) fn nat_texts(nat: NatTimeouts, form: &Form) -> impl Iterator<Item = (&'static str, String)> {
    let NatTimeouts { udp, tcp, port: _ } = nat;
    let timeouts = NAT_KEYS.into_iter().zip([udp, tcp]);
    timeouts.filter_map(|(key, timeout)| Some((key, (form.time)(timeout?))))
}

/// Reads the time-outs of an address translator: `udp=60s,tcp=20min`, or one of them.
///
/// # Errors
/// A key is unknown, or its text is not a time from above 0 to 24 h.
pub fn nat_timeouts(text: &str) -> Result<NatTimeouts, ValueError> {
    let mut nat = NatTimeouts::default();
    for setting in text.split(',') {
        let (key, value) = setting
            .split_once('=')
            .ok_or_else(|| ValueError::form(setting, "KEY=TIME: write udp=60s,tcp=20min"))?;
        set_nat(&mut nat, key.trim(), value.trim())?;
    }
    Ok(nat)
}

/// Sets one time-out of an address translator.
///
/// # Errors
/// As [`nat_timeouts`].
pub fn set_nat(nat: &mut NatTimeouts, key: &str, text: &str) -> Result<(), ValueError> {
    let timeout = time(text)?;
    if timeout.is_zero() || timeout > MAX_NAT_TIMEOUT {
        return Err(ValueError::range("above 0 s and at most 24 h", text));
    }
    match key {
        "udp" => nat.udp = Some(timeout),
        "tcp" => nat.tcp = Some(timeout),
        _ => {
            return Err(ValueError::UnknownKey {
                key: key.to_owned(),
                known: NAT_KEYS.join(", "),
            });
        }
    }
    Ok(())
}
