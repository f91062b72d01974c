//! The phases of a load.

use std::time::Duration;

use wirecost_security::Start;

use crate::error::ScenarioError;
use crate::key::names;
use crate::node::{Node, Value};
use crate::options::load::{Arrivals, Backoff, Offer, Phase};
use crate::shape::{BACKOFF, PHASES};
use crate::table::{Table, ValueError, count, flag, meant, parsed, rate, time};

/// The default messages per second.
const DEFAULT_RATE: f64 = 1_000.0;
/// The default time that devices wait for a connection or for messages.
const DEFAULT_WAIT: Duration = Duration::from_secs(120);

/// Reads the phases of a load. The `rate` and the `start` of the load are the defaults of the phases.
pub(super) fn read(load: &Table<'_>, start: Start) -> Result<Vec<Phase>, ScenarioError> {
    let shared = load.one("rate", rate)?;
    let list = match load.get("phases").map(|node| &node.value) {
        None => return Ok(Vec::new()),
        Some(Value::List(list)) => list,
        Some(_) => {
            return Err(load.error(
                "phases",
                "a list of phases is expected, e.g. - {do: publish, duration: 10s}",
            ));
        }
    };
    list.iter().map(|node| phase(node, shared, start)).collect()
}

fn phase(node: &Node, shared: Option<f64>, start: Start) -> Result<Phase, ScenarioError> {
    let kinds = names(PHASES);
    let missing = || {
        ScenarioError::new(&node.place, "a phase must say what it does, e.g. do: publish")
            .with_hint(format!("do is one of {}", kinds.join(", ")))
    };
    let does = node.get("do").and_then(Node::scalar).ok_or_else(missing)?;
    let Some(kind) = PHASES.iter().find(|kind| kind.name == does) else {
        let place = node.get("do").map_or(&node.place, |node| &node.place);
        let error = ScenarioError::new(place, format!("unknown phase {does:?}"));
        return Err(error.with_hint(meant(&does, &kinds)));
    };
    let keys: Vec<&'static str> = std::iter::once("do").chain(names(kind.holds.keys())).collect();
    let table = Table::new(node, "", &keys)?;
    Ok(match kind.name {
        "connect" => Phase::Connect {
            who: table.one("who", parsed)?.unwrap_or_default(),
            rate: table.one("rate", rate)?,
        },
        "publish" => Phase::Publish(offer(&table, shared)?),
        "request" => Phase::Request(offer(&table, shared)?),
        "handshakes" => Phase::Handshakes {
            offer: offer(&table, shared)?,
            start: table.one("start", parsed)?.unwrap_or(start),
        },
        "hold" => Phase::Hold {
            duration: table.required("duration", positive)?,
        },
        "drop_all" => Phase::DropAll {
            who: table.one("who", parsed)?.unwrap_or_default(),
            reset: table.one("reset", flag)?.unwrap_or(true),
        },
        "reconnect" => Phase::Reconnect {
            who: table.one("who", parsed)?.unwrap_or_default(),
            backoff: backoff(&table)?,
            timeout: table.one("timeout", positive)?.unwrap_or(DEFAULT_WAIT),
        },
        "await_replay" => Phase::AwaitReplay {
            timeout: table.one("timeout", positive)?.unwrap_or(DEFAULT_WAIT),
        },
        _ => Phase::Close {
            rate: table.one("rate", rate)?,
        },
    })
}

fn offer(table: &Table<'_>, shared: Option<f64>) -> Result<Offer, ScenarioError> {
    let duration = table.one("duration", positive)?;
    let count = table.one("count", count)?;
    // It would go on for ever.
    if duration.is_none() && count.is_none() {
        return Err(table.error(
            "duration",
            "a phase that sends ends by duration or by count: one must be there",
        ));
    }
    Ok(Offer {
        arrivals: arrivals(table, shared)?,
        duration,
        count,
        warm_up: table.one("warm_up", time)?.unwrap_or_default(),
        ramp: table.one("ramp", time)?.unwrap_or_default(),
        spread: table.one("spread", time)?,
    })
}

fn arrivals(table: &Table<'_>, shared: Option<f64>) -> Result<Arrivals, ScenarioError> {
    let own = table.one("rate", rate)?;
    if table.one("closed_loop", flag)?.unwrap_or_default() {
        // They would be ignored in silence, and the load be another one than it says.
        let open = ["rate", "per_client", "arrivals", "ramp", "spread"]
            .into_iter()
            .find(|key| table.get(key).is_some());
        return match open {
            Some(key) => Err(table.error(
                key,
                "a closed loop has none: each answer triggers the next message",
            )),
            None => Ok(Arrivals::Closed),
        };
    }
    Ok(Arrivals::Open {
        rate: own.or(shared).unwrap_or(DEFAULT_RATE),
        per_client: table.one("per_client", flag)?.unwrap_or_default(),
        poisson: table.one("arrivals", poisson)?.unwrap_or_default(),
    })
}

fn backoff(table: &Table<'_>) -> Result<Backoff, ScenarioError> {
    const DEFAULT: Backoff = Backoff {
        first: Duration::from_secs(1),
        max: Duration::from_secs(60),
        full_jitter: true,
    };
    let Some(node) = table.get("backoff") else {
        return Ok(DEFAULT);
    };
    let own = Table::new(node, "backoff.", &names(BACKOFF))?;
    let backoff = Backoff {
        first: own.one("first", positive)?.unwrap_or(DEFAULT.first),
        max: own.one("max", positive)?.unwrap_or(DEFAULT.max),
        full_jitter: own.one("jitter", jitter)?.unwrap_or(DEFAULT.full_jitter),
    };
    // The first wait would already be longer than the longest.
    if backoff.max < backoff.first {
        return Err(own.error("max", "it must be at least first"));
    }
    Ok(backoff)
}

fn positive(text: &str) -> Result<Duration, ValueError> {
    let duration = time(text)?;
    if duration.is_zero() {
        Err(ValueError::range("above 0 s", text))
    } else {
        Ok(duration)
    }
}

fn poisson(text: &str) -> Result<bool, ValueError> {
    match text {
        "constant" => Ok(false),
        "poisson" => Ok(true),
        _ => Err(ValueError::form(text, "constant or poisson")),
    }
}

fn jitter(text: &str) -> Result<bool, ValueError> {
    match text {
        "none" => Ok(false),
        "full" => Ok(true),
        _ => Err(ValueError::form(text, "none or full")),
    }
}
