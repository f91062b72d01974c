//! Bytes by layer of a cell, and its link as text.

use std::time::Duration;

use wirecost_proto::shown;
use wirecost_proto::units::{DisplayDuration, counted};
use wirecost_proto::{BitRate, BothWays, Layer, Probability};
use wirecost_results::resolved::Asked;
use wirecost_results::summary::{Bytes, Count, Link, LinkCell, LinkDirection};
use wirecost_results::{Cell, Section};

use crate::names::Names;

/// Mean bytes per sample of each layer, in the order of [`Layer::ALL`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ByLayer(pub(crate) [f64; 5]);

impl ByLayer {
    fn from_bytes(bytes: &Bytes) -> Self {
        Self(Layer::ALL.map(|layer| count(bytes, layer).mean))
    }

    /// The bytes of all layers.
    pub(crate) fn total(&self) -> f64 {
        self.0.iter().sum()
    }

    /// Each layer with its bytes, outermost first.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (Layer, f64)> {
        Layer::ALL.into_iter().zip(self.0)
    }

    fn plus(&self, other: &Self) -> Self {
        let mut sum = *self;
        sum.0.iter_mut().zip(other.0).for_each(|(a, b)| *a += b);
        sum
    }
}

/// The bytes of a section.
pub(crate) fn bytes_of(section: &Section) -> BothWays<ByLayer> {
    BothWays {
        up: ByLayer::from_bytes(&section.up),
        down: ByLayer::from_bytes(&section.down),
    }
}

/// The bytes of one measured message, null where none was measured.
pub(crate) fn message_bytes(cell: &Cell) -> Option<BothWays<ByLayer>> {
    cell.message.as_ref().map(bytes_of)
}

/// The bytes of connect and close: 0 where the stack has neither, null where nothing was measured.
pub(crate) fn connection_bytes(cell: &Cell) -> Option<BothWays<ByLayer>> {
    cell.message.as_ref()?;
    let close = cell.close_of_a_connection();
    let sections = [cell.connect.as_ref(), close.as_ref()].into_iter().flatten();
    let add = |sum: BothWays<ByLayer>, section: &Section| {
        let part = bytes_of(section);
        BothWays::from_fn(|way| sum[way].plus(&part[way]))
    };
    Some(sections.fold(BothWays::default(), add))
}

/// Each layer's bytes, both directions together.
pub(crate) fn together(bytes: &BothWays<ByLayer>) -> ByLayer {
    bytes.up.plus(&bytes.down)
}

/// The counts of one layer.
pub(crate) const fn count(bytes: &Bytes, layer: Layer) -> &Count {
    match layer {
        Layer::Ip => &bytes.ip,
        Layer::Transport => &bytes.transport,
        Layer::Security => &bytes.security,
        Layer::Application => &bytes.application,
        Layer::Payload => &bytes.payload,
    }
}

/// The link in numbers, for files that programs read: RTT in ms, shares, rates in bit/s, the smaller MTU. Missing without an emulated
/// link, and a rate without a limit.
pub(crate) fn link_numbers(link: Option<&Link>) -> [(&'static str, Option<f64>); 6] {
    // On the real path, and in a modelled cell, the numbers of the emulated link are not those that packets met.
    let is_emulated = |link: &&Link| link.path.as_deref() != Some("real") && link.nbiot_cell.is_none();
    let link = link.filter(is_emulated);
    let of = |value: fn(&Link) -> f64| link.map(value);
    [
        ("rtt_ms", of(|link| rtt_ns(link) as f64 / 1e6)),
        ("loss_up", of(|link| link.up.loss)),
        ("loss_down", of(|link| link.down.loss)),
        (
            "rate_up_bps",
            link.and_then(|link| Some(link.up.rate_bps? as f64)),
        ),
        (
            "rate_down_bps",
            link.and_then(|link| Some(link.down.rate_bps? as f64)),
        ),
        (
            "mtu_bytes",
            of(|link| link.up.mtu_bytes.min(link.down.mtu_bytes) as f64),
        ),
    ]
}

/// The range of sizes of the connects of a cell, as text; `None` if they are equal or the link is lossy.
pub(crate) fn varying_connect(names: &Names, cell: &Cell) -> Option<String> {
    let connect = cell.connect.as_ref()?;
    let range = |bytes: &Bytes, direction: &str| {
        let Count { min, max, .. } = bytes.wire;
        // With losses the size varies by what was sent again, which is no news.
        (min != max && !cell.is_lossy()).then(|| format!("{min} to {max} B {direction}"))
    };
    let ranges = [range(&connect.up, "up"), range(&connect.down, "down")];
    let ranges: Vec<String> = ranges.into_iter().flatten().collect();
    (!ranges.is_empty()).then(|| {
        format!(
            "sizes of {} vary: connect {}",
            names.label(cell),
            ranges.join(", ")
        )
    })
}

/// The padding in the connects of `cells`, as text; `None` without padding. DTLS 1.3 pads its ClientHello to the MTU in
/// our library, and QUIC its Initial datagrams to 1,200 B (RFC 9000, section 14.1).
pub(crate) fn padded_connects<'a>(
    names: &Names,
    cells: impl IntoIterator<Item = &'a Cell>,
) -> Option<String> {
    let padding = |cell: &Cell| {
        let bytes = cell.connect.as_ref()?.by_cause.get("probe")?;
        let bytes = bytes.up + bytes.down;
        (bytes > 0.0).then(|| format!("{} {bytes:.0} B", names.label(cell)))
    };
    let found: Vec<String> = cells.into_iter().filter_map(padding).collect();
    (!found.is_empty()).then(|| format!("padding within the connects: {}", found.join(", ")))
}

/// How a text writes times and rates: exact for files that programs read, or as people read them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Exact,
    Shown,
}

impl Form {
    fn time(self, nanos: u64) -> String {
        let time = Duration::from_nanos(nanos);
        match self {
            Self::Exact => DisplayDuration(time).to_string(),
            Self::Shown => shown::time(time),
        }
    }

    fn rate(self, direction: &LinkDirection) -> String {
        let rate = direction.rate_bps.and_then(BitRate::from_bits_per_second);
        match (self, rate) {
            (_, None) => "unlimited".to_owned(),
            (Self::Exact, Some(rate)) => rate.to_string(),
            (Self::Shown, Some(rate)) => shown::rate(rate),
        }
    }
}

/// The link for people: `RTT 25 ms, loss 5%`; or that there was none.
pub fn link_words(link: &Link) -> String {
    words(link, Form::Shown)
}

/// The link in the form of the flags, for files that programs read: `rtt 25ms, loss 5%`.
pub(crate) fn link_text(link: &Link) -> String {
    words(link, Form::Exact)
}

fn words(link: &Link, form: Form) -> String {
    if link.path.as_deref() == Some("real") {
        return "real path, no emulated link".into();
    }
    if let Some(cell) = &link.nbiot_cell {
        return cell_words(cell);
    }
    let name = match form {
        Form::Exact => "rtt",
        Form::Shown => "RTT",
    };
    let rtt = format!("{name} {}", form.time(rtt_ns(link)));
    let relay = (link.path.as_deref() == Some("relay")).then(|| "to a relay to the target".to_owned());
    let words: Vec<String> = std::iter::once(rtt)
        .chain(impairments(link, form).into_iter().filter_map(|(_, words)| words))
        .chain(relay)
        .collect();
    words.join(", ")
}

/// A modelled cell in words: its network, its load and the device's place.
fn cell_words(cell: &LinkCell) -> String {
    let load = match cell.load_per_s {
        0.0 => "unloaded".to_owned(),
        load => format!("{load}/s per cell from others"),
    };
    format!(
        "modelled NB-IoT cell ({}, {load}, coupling loss {} dB)",
        cell.profile, cell.coupling_loss_db
    )
}

/// The number of devices per cell, and whether they share a link, as text.
pub(crate) fn samples(scenario: &Asked) -> String {
    let samples = scenario.samples();
    if scenario.is("shared_link") {
        format!("{} sharing one link per cell", counted(samples, "device"))
    } else {
        format!("{} per cell", counted(samples, "sample"))
    }
}

/// The impairments other than delay, loss and rate: `mtu 576B`; empty without any.
pub(crate) fn other_words(link: &Link) -> String {
    let others = impairments(link, Form::Shown)
        .into_iter()
        .filter(|(name, _)| !["loss", "rate"].contains(name));
    let words: Vec<String> = others.filter_map(|(_, words)| words).collect();
    words.join(", ")
}

/// The propagation delay of a round trip.
pub(crate) const fn rtt_ns(link: &Link) -> u64 {
    link.up.delay_ns.saturating_add(link.down.delay_ns)
}

/// The texts of both directions, once if they are equal.
pub(crate) fn both_ways(link: &Link, write: impl Fn(&LinkDirection) -> String) -> String {
    let (up, down) = (write(&link.up), write(&link.down));
    if up == down {
        up
    } else {
        format!("{up} up {down} down")
    }
}

/// Everything but the delay: its name, and its text if it differs from the default.
fn impairments(link: &Link, form: Form) -> [(&'static str, Option<String>); 7] {
    let text = |name: &'static str, is_usual: bool, write: &dyn Fn(&LinkDirection) -> String| {
        (
            name,
            (!is_usual).then(|| format!("{name} {}", both_ways(link, write))),
        )
    };
    let all = |is: fn(&LinkDirection) -> bool| is(&link.up) && is(&link.down);
    [
        text(
            "delay variation",
            all(|way| way.delay_variation_ns == 0),
            &|way| form.time(way.delay_variation_ns),
        ),
        text("loss", all(|way| way.loss == 0.0), &loss),
        text("reorder", all(|way| way.reorder == 0.0), &|way| {
            percent(way.reorder)
        }),
        text("duplicate", all(|way| way.duplicate == 0.0), &|way| {
            percent(way.duplicate)
        }),
        text("corrupt", all(|way| way.corrupt == 0.0), &|way| {
            percent(way.corrupt)
        }),
        text("rate", all(|way| way.rate_bps.is_none()), &|way| form.rate(way)),
        text("mtu", all(|way| way.mtu_bytes == 1_500), &|way| {
            format!("{}B", way.mtu_bytes)
        }),
    ]
}

/// The share of packets that are lost.
pub(crate) fn loss(direction: &LinkDirection) -> String {
    percent(direction.loss)
}

/// A time with its unit.
pub(crate) fn time(nanos: u64) -> String {
    Form::Shown.time(nanos)
}

fn percent(share: f64) -> String {
    Probability::new(share).map_or_else(|| share.to_string(), |p| p.to_string())
}

/// The rate with its unit.
pub(crate) fn rate(direction: &LinkDirection) -> String {
    Form::Shown.rate(direction)
}
