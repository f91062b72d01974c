//! What the figures and their order rest on, named beside them.

use wirecost_energy::{Radio, State};
use wirecost_scenario::certificates::profile;

use super::Inputs;
use super::rows::Row;
use super::ways::keep_alives;
use crate::commands::cost::table::{number, time};

/// The assumptions that move the order of rows, one line each.
pub(super) fn order(inputs: &Inputs<'_>, rows: &[Row]) -> Vec<String> {
    let mut lines = Vec::new();
    lines.extend(translator(inputs, rows));
    lines.extend(keep_alive(inputs, rows));
    lines.extend(certificates(inputs));
    lines.extend(tickets(inputs, rows));
    lines.extend(wake_up(inputs));
    lines.extend(attach(inputs));
    lines.extend(assumed(inputs));
    lines
}

fn has_connections(rows: &[Row]) -> bool {
    rows.iter().any(|row| row.way.is_kept())
}

fn translator(inputs: &Inputs<'_>, rows: &[Row]) -> Option<String> {
    // Nothing is bound to a port longer than a message takes.
    if !has_connections(rows) {
        return None;
    }
    let nat = inputs.link.nat;
    let of = |what: &str, timeout: Option<std::time::Duration>| {
        timeout.map(|timeout| format!("{} for {what}", time(timeout)))
    };
    let timeouts = [of("UDP", nat.udp), of("TCP", nat.tcp)];
    let timeouts: Vec<String> = timeouts.into_iter().flatten().collect();
    Some(match timeouts.as_slice() {
        [] => "NAT: none on this link, so that no binding of a persistent connection times out".to_owned(),
        some => {
            let port = match nat.new_udp_port() {
                Some(_) => "; a later UDP packet gets another port",
                None => "",
            };
            format!("NAT: binding time-out {}{port}", some.join(" and "))
        }
    })
}

fn keep_alive(inputs: &Inputs<'_>, rows: &[Row]) -> Option<String> {
    let follows = |row: &Row| row.stack.publishes() && row.way.is_kept();
    if !rows.iter().any(follows) {
        return None;
    }
    let all = keep_alives(inputs.arguments, &inputs.link);
    let texts: Vec<String> = all.iter().map(|keep_alive| time(*keep_alive)).collect();
    let why = match inputs.arguments.keep_alive.is_empty() {
        true if texts.len() > 1 => ", the usual one and the longest that the link allows",
        true => ", the usual one",
        false => ", as asked for",
    };
    Some(format!("keep-alive of MQTT: {}{why}", texts.join(" and ")))
}

/// The certificates of a profile, and which of them are assumed.
fn certificates(inputs: &Inputs<'_>) -> Option<String> {
    let chain = inputs.handshake_used().chain;
    let profile = profile(chain)?;
    let each = profile.certificates.iter().map(|one| {
        let assumed = if one.is_sourced { "" } else { " (assumed)" };
        format!("{} B{assumed}", one.bytes)
    });
    let each: Vec<String> = each.collect();
    Some(format!(
        "certificates of TLS: {chain}, {}; --certificate {} is a leaf of a private authority alone",
        each.join(" and "),
        profile.sizes.key()
    ))
}

fn tickets(inputs: &Inputs<'_>, rows: &[Row]) -> Option<String> {
    let resumes = rows.iter().any(|row| row.way.start.needs_earlier());
    resumes.then(|| {
        format!(
            "resumed and 0rtt starts: the server takes a ticket for {} or longer; --start cold leaves them out",
            time(inputs.arguments.every.unwrap_or_default())
        )
    })
}

fn wake_up(inputs: &Inputs<'_>) -> Option<String> {
    let device = inputs.device.as_ref().filter(|_| inputs.link.cell.is_none())?;
    let Some(wake) = device.wake else {
        return Some("wake-up: none in the device file, so that a reading finds the device awake".to_owned());
    };
    let source = device.provenance.iter().find(|figure| figure.key == "wake.time");
    let source = match source.and_then(|figure| figure.source.as_ref()) {
        Some(_) => "from its source",
        None => "assumed",
    };
    Some(format!(
        "wake-up: {} and {} mJ before a message of a device that rests, {source}; it counts in the time of a reading",
        time(wake.time),
        number(wake.level.watts * wake.time.as_secs_f64() * 1e3)
    ))
}

/// That no attach is counted, of a device that could lose its network.
fn attach(inputs: &Inputs<'_>) -> Option<String> {
    let device = inputs.device.as_ref().filter(|_| inputs.link.cell.is_none())?;
    let is_cellular = matches!(device.radio, Radio::Cellular(_) | Radio::NbIot(_));
    let is_kept = is_cellular && device.rest == State::Sleep && device.attach.is_none();
    is_kept.then(|| {
        "attach: none is counted; --attach every=30d has a device that loses its network so often".to_owned()
    })
}

fn assumed(inputs: &Inputs<'_>) -> Option<String> {
    let device = inputs.device.as_ref()?;
    let mut keys: Vec<&str> = device
        .provenance
        .iter()
        .filter(|figure| figure.source.is_none())
        .map(|figure| figure.key.as_str())
        .collect();
    keys.dedup();
    (!keys.is_empty()).then(|| format!("assumed in {}: {}", device.name, keys.join(", ")))
}
