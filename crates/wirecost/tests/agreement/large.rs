//! 100 kB and 1 MB without loss, where Linux itself does not repeat: how many segments and acknowledgments there are
//! depends on when the machine lets a reader have the socket. Where it lets nobody have it for two round trips, the
//! sender's kernel probes for a loss that there was not (RFC 8985 section 7.2), and bytes are sent again.

use crate::trace::{Counts, Trace};
use crate::traces::{live, simulated};

/// Data segments by which the nearest repeat may differ: a writer that was held up ends its writes elsewhere.
const SEGMENTS: u64 = 4;

/// What one device counted, up and down.
type Repeat = [Counts; 2];

/// Holds data bytes, data segments and pure acknowledgments of 20 repeats against virtual time.
fn hold(stacks: &str, size: &str) {
    let arguments = format!("{stacks} --size {size} --rtt 31ms -n 20 --record-hosts 1000");
    let (live, simulated) = (live(&arguments), simulated(&arguments));
    let mut wrong = Vec::new();
    for (cell, live) in &live {
        let expected = simulated[cell].first().expect("a simulated device").counts();
        let repeats: Vec<Repeat> = live.iter().map(Trace::counts).collect();
        wrong.extend(differences(cell, &repeats, expected));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What of the repeats of a cell is not as simulated.
fn differences(cell: &str, repeats: &[Repeat], simulated: Repeat) -> Vec<String> {
    let mut wrong = resent(cell, repeats, simulated)
        .err()
        .into_iter()
        .collect::<Vec<_>>();
    let undisturbed: Vec<&Repeat> = repeats
        .iter()
        .filter(|repeat| is_undisturbed(repeat, simulated))
        .collect();
    for (way, name) in ["up", "down"].into_iter().enumerate() {
        let every: Vec<Counts> = repeats.iter().map(|repeat| repeat[way]).collect();
        let undisturbed: Vec<Counts> = undisturbed.iter().map(|repeat| repeat[way]).collect();
        let text = new_bytes(&every, simulated[way]).or_else(|| packets(&undisturbed, simulated[way]));
        wrong.extend(text.map(|text| format!("{cell} {name}: {text}")));
    }
    wrong
}

/// Whether nothing was sent again that was not in virtual time, too.
fn is_undisturbed(repeat: &Repeat, simulated: Repeat) -> bool {
    let pairs = repeat.iter().zip(simulated);
    pairs
        .into_iter()
        .all(|(live, simulated)| live.resent_bytes == simulated.resent_bytes)
}

/// Names the repeats in which bytes were sent again; the error says that they are not the exception.
fn resent(cell: &str, repeats: &[Repeat], simulated: Repeat) -> Result<(), String> {
    let mut disturbed = 0;
    for (number, repeat) in repeats.iter().enumerate() {
        if !is_undisturbed(repeat, simulated) {
            disturbed += 1;
            let [up, down] = repeat.map(|counts| counts.resent_bytes);
            eprintln!("{cell}: repeat {number} sent {up} B up and {down} B down again");
        }
    }
    if disturbed * 2 < repeats.len() {
        return Ok(());
    }
    Err(format!(
        "{cell}: {disturbed} of {} repeats sent bytes again",
        repeats.len()
    ))
}

/// The bytes that the stack had to send are those of virtual time in every repeat, whatever was sent again.
fn new_bytes(live: &[Counts], simulated: Counts) -> Option<String> {
    let new = |counts: &Counts| counts.data_bytes - counts.resent_bytes;
    let (live, simulated) = (sorted(live, new), new(&simulated));
    let is_equal = live.iter().all(|live| *live == simulated);
    (!is_equal).then(|| difference("data bytes", &live, simulated))
}

/// How many packets those bytes took, where none was sent again.
fn packets(live: &[Counts], simulated: Counts) -> Option<String> {
    type Of = fn(&Counts) -> u64;
    let counted: [(&str, u64, Of); 2] = [
        ("data segments", SEGMENTS, |counts| counts.data_segments),
        ("pure acknowledgments", 0, |counts| counts.pure_acknowledgments),
    ];
    counted.into_iter().find_map(|(name, apart, of)| {
        let (live, simulated) = (sorted(live, of), of(&simulated));
        let (least, most) = (live.first()?.saturating_sub(apart), live.last()? + apart);
        let is_within = (least..=most).contains(&simulated);
        (!is_within).then(|| difference(name, &live, simulated))
    })
}

fn sorted(live: &[Counts], of: impl Fn(&Counts) -> u64) -> Vec<u64> {
    let mut counts: Vec<u64> = live.iter().map(of).collect();
    counts.sort_unstable();
    counts
}

fn difference(name: &str, live: &[u64], simulated: u64) -> String {
    format!("{name}: live {live:?}, simulated {simulated}")
}

#[test]
fn tcp_of_100_kb() {
    hold(
        "tcp,mqtt-qos1,http1,amqp-unsettled,tcp+tls1.3,http1+tls1.2",
        "100kB",
    );
}

#[test]
fn tcp_of_1_mb() {
    hold("tcp,mqtt-qos1,http1,tcp+tls1.3", "1MB");
}
