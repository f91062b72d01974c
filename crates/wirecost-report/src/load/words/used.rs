//! What a load used: links, hops, the target with its settings, a simulated server, worlds.

use wirecost_proto::units::counted;
use wirecost_results::link_use::{DirectionUse, HopUse, LinkUse};
use wirecost_results::load::{HopFigures, LinkFigures, Load, ServiceFigures, WireWay, Worlds};

use crate::number;

/// Packets and bytes of one direction of the real path.
pub(crate) fn wire_use(used: &WireWay) -> String {
    let packets = counted(used.packets, "packet");
    format!(
        "{packets} of {} B, headers of IP included",
        number::grouped(used.bytes)
    )
}

/// The use of one direction of a link: `1,200 packets, 12 lost, 3 dropped by its queue, rate in use 40 % of the time`.
pub(crate) fn direction_use(used: &DirectionUse) -> String {
    let mut text = counted(used.packets, "packet");
    for (count, what) in [(used.lost, "lost"), (used.queue_dropped, "dropped by its queue")] {
        if count > 0 {
            text += &format!(", {} {what}", number::grouped(count));
        }
    }
    if let Some((senders, subscribers)) = used.sender_bytes().zip(used.subscriber_bytes)
        && subscribers > 0
    {
        let [senders, subscribers] = [senders, subscribers].map(number::grouped);
        text += &format!(", {senders} B of senders and {subscribers} B of subscribers");
    }
    if let Some(share) = used.utilisation {
        text += &format!(", rate in use {} of the time", number::percent(share));
    }
    text
}

/// The bytes of a hop in a phase.
pub(crate) fn hop_use(hop: &HopUse) -> String {
    let LinkUse { up, down } = &hop.used;
    let way = |way: &DirectionUse| {
        let rate = way
            .utilisation
            .map(|share| format!(" ({} of its rate)", number::percent(share)));
        format!("{} B{}", number::grouped(way.bytes), rate.unwrap_or_default())
    };
    format!("{} up, {} down", way(up), way(down))
}

/// The bytes of a hop over the whole load.
pub(crate) fn hop(hop: &HopFigures) -> String {
    let way = |way: &WireWay| {
        format!(
            "{} B in {}",
            number::grouped(way.bytes),
            counted(way.packets, "packet")
        )
    };
    format!(
        "{} up, {} down, over the whole load",
        way(&hop.used.up),
        way(&hop.used.down)
    )
}

/// The settings of the target: `max_queued_messages 1000`.
pub(crate) fn settings(load: &Load) -> String {
    let settings = load
        .settings
        .iter()
        .map(|(name, value)| format!("{name} {value}"));
    settings.collect::<Vec<String>>().join(", ")
}

/// The settings of the target of each load that has any, with its label.
pub(crate) fn all_settings(loads: &[Load], labels: &[String]) -> Vec<(String, String)> {
    let of_each = loads.iter().zip(labels);
    of_each
        .filter(|(load, _)| !load.settings.is_empty())
        .map(|(load, label)| (label.clone(), settings(load)))
        .collect()
}

/// The accuracy of the link: the RTT, and how late packets were.
pub(crate) fn link_kept(figures: &LinkFigures) -> String {
    let Some(emulator) = &figures.emulator else {
        return "modelled: packets are handed over exactly when they are due".into();
    };
    let achieved = figures.link.achieved.as_ref();
    let rtt = achieved.and_then(|achieved| achieved.rtt_p50_ns);
    let rtt = number::optional(rtt, |nanos| number::latency(nanos as f64));
    let late = number::duration(emulator.lateness_p99_ns as f64);
    let relay = figures.relay.as_ref().map_or_else(String::new, |target| {
        format!("; a relay at its end stands for {target}, and bytes are those between device and relay")
    });
    format!(
        "an echo took {rtt} ms before the load, packets were handed over {late} late (p99), by {}{relay}",
        figures.packet_path
    )
}

/// The service of a simulated server: `1ms for a message by 4 workers, busy 90 % of the time`.
pub(crate) fn service(figures: &ServiceFigures) -> String {
    let busy = number::optional(figures.utilisation, number::percent);
    let workers = counted(figures.workers.into(), "worker");
    format!(
        "{} for a message by {workers}, busy {busy} of the time",
        figures.service_time
    )
}

/// The worlds of a load in virtual time: `200, whose devices share nothing`, or `one: all devices share a broker`.
pub(crate) fn worlds(worlds: &Worlds) -> String {
    match &worlds.shared {
        None => format!("{}, whose devices share nothing", worlds.count),
        Some(shared) if worlds.count == 1 => format!("one: all devices share {shared}"),
        // The sum of several loads.
        Some(shared) => format!("{}: the devices of each share {shared}", worlds.count),
    }
}
