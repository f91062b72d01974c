//! `wirecost what-if`: the readings of a capture over other stacks, in virtual time.

mod readings;

use std::net::IpAddr;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Value, json};
use wirecost_cost::tariff::MONTH_SECONDS;
use wirecost_live::signals::Interrupt;
use wirecost_proto::ByteSize;
use wirecost_proto::units::{DisplayDuration, counted};
use wirecost_results::{RunFolder, Summary};
use wirecost_scenario::Scenario;
use wirecost_scenario::options::compare::{Engine, Options, Schedule};
use wirecost_scenario::options::content::Contents;

use super::cost::table::{draw, number};
use super::cost::traffic::{self, mode};
use super::link_flags::links;
use super::{choose, keep_alive_seconds};
use crate::arguments::WhatIfArguments;
use crate::exit::{self, Failure};
use crate::output;
use readings::{Readings, interval, median};

/// What a device sends today.
struct Today {
    device: IpAddr,
    readings: u64,
    size: u64,
    every: Duration,
    connects: u64,
    /// Bytes of IP packets per reading, both ways.
    bytes: f64,
    notes: Vec<String>,
}

/// What the readings cost over a stack.
struct Row {
    stack: String,
    way: String,
    /// Bytes of IP packets per reading, both ways, or why there are none.
    bytes: Result<f64, String>,
}

/// Runs the command.
pub fn run(arguments: &WhatIfArguments) -> Result<ExitCode, Failure> {
    output::check_files(&[("--json", arguments.json.as_deref())])?;
    let today = today(arguments)?;
    let options = options(arguments, &today)?;
    let interrupt = Interrupt::install()?;
    let out = arguments
        .out
        .clone()
        .unwrap_or_else(|| choose::folder_named("what-if"));
    let scenario = Scenario::comparison(options.clone());
    let (summary, _) = choose::play(arguments.quiet, &options, &scenario, &out, interrupt)?;
    if summary.interrupted {
        output::note(format_args!(
            "interrupted: what was simulated is in {}",
            out.display()
        ));
        return Ok(ExitCode::from(exit::INTERRUPTED));
    }
    let rows = rows(&summary);
    let json = json(&today, &rows);
    RunFolder::open(&out).write_json("what-if.json", &json)?;
    output::table_or_json(
        arguments.json.as_deref(),
        || serde_json::to_string_pretty(&json),
        || table(&today, &rows),
    )?;
    if !arguments.quiet {
        output::note(format_args!("evidence: {}/report.html", out.display()));
    }
    Ok(ExitCode::from(exit::OK))
}

fn today(arguments: &WhatIfArguments) -> Result<Today, Failure> {
    let shown = arguments.capture.display();
    let (reading, sightings) = traffic::open(&arguments.capture, arguments.keylog.as_deref())?;
    if let Some(fault) = &reading.fault {
        return Err(Failure::usage(format!("{shown}: {fault}"))
            .with_hint("give a whole capture: the bytes of each reading are needed"));
    }
    let devices = sightings.devices().into_iter();
    let device = devices
        .filter(|(address, _)| arguments.client.is_none_or(|client| client == *address))
        .max_by_key(|(_, bytes)| *bytes);
    let none = |what: String| {
        Failure::usage(format!("{shown} has no {what}"))
            .with_hint("give a capture in which the device sends payload; wirecost pcap shows what is in it")
    };
    let (device, _) = device.ok_or_else(|| none("packets of this device".to_owned()))?;
    let mut found = Readings::default();
    sightings.tell(device, &mut found);
    let mut notes = Vec::new();
    let hidden = reading
        .report
        .unattributed
        .iter()
        .any(|left| left.why != "no flow");
    let seen = if found.seen.is_empty() && hidden {
        notes.push("the content could not be decrypted: each packet up with encrypted content counts as a reading of its records' size, with headers of the application; --keylog gives the payloads".to_owned());
        &found.records
    } else {
        if hidden {
            notes.push(
                "some content could not be described: readings in it are not seen, but its bytes count"
                    .to_owned(),
            );
        }
        &found.seen
    };
    let sizes: Vec<u64> = seen.iter().map(|(_, size)| *size).collect();
    let size = median(sizes.clone()).ok_or_else(|| none(format!("readings of {device}")))?;
    if sizes.iter().any(|other| *other != size) {
        notes.push(format!("the sizes differ: {size} B is their median"));
    }
    let every = arguments
        .every
        .or_else(|| interval(seen))
        .filter(|every| !every.is_zero());
    let every = every.ok_or_else(|| {
        Failure::usage(format!("the readings of {device} have no interval"))
            .with_hint("say how often they are sent with --every, e.g. --every 15min")
    })?;
    Ok(Today {
        device,
        readings: seen.len() as u64,
        size,
        every,
        connects: found.connects,
        bytes: found.wire_bytes as f64 / seen.len() as f64,
        notes,
    })
}

/// The comparison that is simulated: a connection for each reading, and one that is kept as long as in the capture.
fn options(arguments: &WhatIfArguments, today: &Today) -> Result<Options, Failure> {
    let links = links(&arguments.link)?;
    let [link] = links.as_slice() else {
        return Err(Failure::usage("what-if takes one link")
            .with_hint("give one value for each option of the link, and run what-if once for each link"));
    };
    let schedule = |messages| Schedule {
        messages,
        warm_up: false,
        interval: Some(today.every),
    };
    let kept = match today.readings / today.connects.max(1) {
        0 | 1 => today.readings,
        each => each,
    };
    let mut schedules = vec![schedule(1)];
    if kept > 1 {
        schedules.push(schedule(kept.min(choose::MOST_READINGS)));
    }
    let options = Options {
        engine: Engine::Sim,
        contents: Contents::Sizes(vec![ByteSize::from_bytes(today.size)]),
        links: vec![*link],
        samples: 1,
        seed: arguments.seed,
        keep_alive: keep_alive_seconds(arguments.keep_alive)?,
        schedules,
        ..Options::new(arguments.stacks.clone())
    };
    options.validate()?;
    Ok(options)
}

/// A row for each cell; without a connection both ways are the same, and the one with more readings stands.
fn rows(summary: &Summary) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for cell in &summary.cells {
        let row = Row {
            stack: cell.stack.clone(),
            way: mode(cell),
            bytes: cell.all_in().map(|all_in| all_in.each()).ok_or_else(|| {
                let why = cell.not_run.clone();
                why.unwrap_or_else(|| "the device did not finish".to_owned())
            }),
        };
        match rows
            .iter()
            .position(|other| other.stack == row.stack && other.way == row.way)
        {
            Some(twin) => rows[twin] = row,
            None => rows.push(row),
        }
    }
    rows
}

impl Today {
    fn month(&self, bytes: f64) -> f64 {
        bytes * MONTH_SECONDS / self.every.as_secs_f64()
    }

    /// What the simulation assumes.
    fn assumed(&self) -> Vec<String> {
        let mut notes = vec![
            "bytes: IP packets per reading, both ways, with its share of connects, keep-alives and closes"
                .to_owned(),
            format!(
                "simulated: one device, {} B every {}, up, with wirecost's own client and server; another client's topic, client ID, options and certificates have other lengths",
                self.size,
                DisplayDuration(self.every)
            ),
        ];
        notes.extend(self.notes.iter().cloned());
        if self.readings / self.connects.max(1) > choose::MOST_READINGS {
            notes.push(format!(
                "a connection is kept for {} readings, not longer",
                choose::MOST_READINGS
            ));
        }
        notes
    }
}

fn table(today: &Today, rows: &[Row]) -> String {
    let mut text = format!(
        "{} of {} in {}: {} B every {}\n\n",
        counted(today.readings, "reading"),
        today.device,
        counted(today.connects, "connection"),
        today.size,
        DisplayDuration(today.every)
    );
    let head = ["stack", "connection", "bytes", "MB/month", "against today"];
    let line = |name: &str, way: &str, bytes: f64| {
        vec![
            name.to_owned(),
            way.to_owned(),
            number(bytes),
            number(today.month(bytes) / 1e6),
            format!("{:+.1} %", (bytes / today.bytes - 1.0) * 100.0),
        ]
    };
    let mut lines = vec![head.map(str::to_owned).to_vec()];
    lines.push(line("today", "as captured", today.bytes));
    lines.extend(rows.iter().map(|row| match &row.bytes {
        Ok(bytes) => line(&row.stack, &row.way, *bytes),
        Err(why) => vec![row.stack.clone(), format!("not run: {why}")],
    }));
    draw(&lines, &[0, 1], &mut text);
    for note in today.assumed() {
        text.push_str(&format!("\n{note}"));
    }
    text.push('\n');
    text
}

fn json(today: &Today, rows: &[Row]) -> Value {
    let rows = rows.iter().map(|row| {
        json!({
            "stack": row.stack,
            "connection": row.way,
            "bytes_per_reading": row.bytes.as_ref().ok(),
            "bytes_per_month": row.bytes.as_ref().ok().map(|bytes| today.month(*bytes)),
            "not_run": row.bytes.as_ref().err(),
        })
    });
    json!({
        "device": today.device.to_string(),
        "readings": today.readings,
        "connections": today.connects,
        "size_bytes": today.size,
        "interval_s": today.every.as_secs_f64(),
        "bytes_per_reading": today.bytes,
        "bytes_per_month": today.month(today.bytes),
        "rows": rows.collect::<Vec<Value>>(),
        "notes": today.assumed(),
    })
}
