//! `.jls` files of version 2 (Joulescope): chunks of samples of several signals, of which the current is read beside the voltage.
//!
//! ```text
//! file header (32 B) | chunk | chunk | ... | chunk END
//! chunk: header (32 B) | payload | 0 to 7 B | CRC (4 B)
//! ```
//!
//! Each signal is read by a reader of its own, from the begin of the file to its end, so that one chunk of each is in memory.
//! <https://github.com/jetperch/jls>, include/jls/format.h.

mod fault;

use std::io::{self, BufReader, Read};

use wirecost_energy::fit::bins::{Binner, TraceBins};
use wirecost_energy::trace::Sample;

use super::MOST_EDGES;
use crate::arguments::CostArguments;
pub use fault::JlsFault;

/// The begin of a file of version 2.
const VERSION_2: [u8; 16] = *b"jlsfmt\r\n \n \x1a  \xb2\x1c";
/// The begin of a file of version 1, which holds blocks of another form.
const VERSION_1: [u8; 8] = *b"\xd3tagfmt ";
/// Bytes of the headers of the file and of a chunk.
const HEADER: usize = 32;
/// The most bytes of a chunk that is read: thirty times the usual ones.
const MOST_PAYLOAD: u32 = 1 << 24;

/// The most signals of a file, and the most bytes of their names that are kept.
const MOST_SIGNALS: usize = 256;
const MOST_NAME: usize = 256;

/// The kinds of chunks that are read.
const SIGNAL: u8 = 0x02;
const DATA: u8 = 0x22;
const SUMMARY: u8 = 0x24;
const END: u8 = 0xff;

/// Bytes before the samples of a chunk.
const BEFORE_SAMPLES: usize = 16;
/// Bytes of a signal's description before its name.
const BEFORE_NAME: usize = 128;
/// The sample of a signal whose samples are f32, and the one whose samples are bits (`JLS_DATATYPE_F32`, `JLS_DATATYPE_U1`).
const F32: u32 = 0x2004;
const BIT: u32 = 0x0103;

/// Reads a recording, from a reader of the file for each pass: its bins, and when the marker rises.
pub fn read<R: Read>(
    mut open: impl FnMut() -> Result<R, JlsFault>,
    arguments: &CostArguments,
) -> Result<(Option<TraceBins>, Vec<f64>), JlsFault> {
    let signals = signals(open()?)?;
    let of_unit = |unit| signals.iter().find(|signal| signal.unit == unit);
    let current = of_unit("A").ok_or(JlsFault::NoSignal("A"))?;
    let mut volts = match (of_unit("V"), arguments.volts) {
        // The power of a sample needs both at the same time; resampling one would move charge between the bins.
        (Some(voltage), _) if voltage.rate != current.rate => {
            return Err(JlsFault::Rates(current.rate, voltage.rate));
        }
        (Some(voltage), _) => Volts::Measured(Samples::new(open()?, voltage)?, None),
        (None, Some(volts)) => Volts::Given(volts),
        (None, None) => return Err(JlsFault::NoVoltage),
    };
    let interval = 1.0 / f64::from(current.rate);
    let mut samples = Samples::new(open()?, current)?;
    let mut binner = Binner::default();
    // A recording counts its samples from the begin of the instrument's stream, not from that of the file.
    let mut first = None;
    while let Some((index, amperes)) = samples.next()? {
        let begin = *first.get_or_insert(index);
        // Where one of both is not there, or is no number, something was lost: a gap.
        let volts = volts.at(index)?.unwrap_or(f64::NAN);
        if amperes.is_finite() && volts.is_finite() {
            binner.add(Sample {
                seconds: index.saturating_sub(begin) as f64 * interval,
                amperes,
                watts: amperes * volts,
            });
        }
    }
    let Some(first) = first else {
        return Err(JlsFault::Omitted(current.name.clone()));
    };
    let rises = match &arguments.marker_channel {
        Some(name) => rises(open()?, digital(&signals, name)?, first)?,
        None => Vec::new(),
    };
    Ok((binner.finish(), rises))
}

/// A signal of fixed rate.
#[derive(Debug)]
struct Signal {
    number: u8,
    name: String,
    unit: String,
    /// Samples a second.
    rate: u32,
    kind: u32,
    /// Samples for each entry of a summary of the first level.
    for_entry: u32,
}

/// The digital signal of a name.
fn digital<'a>(signals: &'a [Signal], name: &str) -> Result<&'a Signal, JlsFault> {
    let digital = || signals.iter().filter(|signal| signal.kind == BIT);
    digital()
        .find(|signal| signal.name.eq_ignore_ascii_case(name))
        .ok_or_else(|| {
            let there = digital().map(|signal| signal.name.clone());
            JlsFault::NoChannel(name.to_owned(), there.collect())
        })
}

fn signals(file: impl Read) -> Result<Vec<Signal>, JlsFault> {
    let mut chunks = Chunks::new(file)?;
    let mut found = Vec::new();
    // A recorder describes all signals before their samples, but need not.
    while let Some(chunk) = chunks.next(|chunk| chunk.tag == SIGNAL)? {
        found.extend(signal(&chunk, &chunks.payload));
        found.truncate(MOST_SIGNALS);
    }
    Ok(found)
}

/// The description of a signal; `None` if its rate varies, or if it is too short.
fn signal(chunk: &Chunk, payload: &[u8]) -> Option<Signal> {
    let number = |at: usize| Some(u32::from_le_bytes(payload.get(at..at + 4)?.try_into().ok()?));
    let mut texts = payload.get(BEFORE_NAME..)?.split(|byte| *byte == 0);
    // A text ends with a zero and a unit separator.
    let mut text = || {
        let text = texts.next()?;
        let text = text.strip_prefix(&[0x1f]).unwrap_or(text);
        Some(String::from_utf8_lossy(&text[..text.len().min(MOST_NAME)]).into_owned())
    };
    let rate = number(8).filter(|rate| *rate > 0)?;
    Some(Signal {
        number: chunk.signal,
        name: text()?,
        unit: text()?,
        rate,
        // Without the place of a fixed point, which these types have not.
        kind: number(4)? & 0xffff,
        for_entry: number(16)?,
    })
}

/// The header of a chunk.
#[derive(Clone, Copy, Debug)]
struct Chunk {
    tag: u8,
    signal: u8,
    /// 0: samples; 1: summaries of samples; above: summaries of summaries.
    level: u8,
    bytes: u32,
}

/// Walks the chunks of a file.
struct Chunks<R> {
    file: BufReader<R>,
    /// The payload of the last chunk that was asked for.
    payload: Vec<u8>,
}

impl<R: Read> Chunks<R> {
    fn new(file: R) -> Result<Self, JlsFault> {
        let mut file = BufReader::with_capacity(1 << 16, file);
        let mut header = [0; HEADER];
        // Version 1 is told first: its file may be shorter than the header of version 2.
        let begun = file.read_exact(&mut header);
        if header.starts_with(&VERSION_1) {
            return Err(JlsFault::Version1);
        }
        if begun.is_err() || !header.starts_with(&VERSION_2) {
            return Err(JlsFault::NoJls);
        }
        Ok(Self {
            file,
            payload: Vec::new(),
        })
    }

    /// The next chunk that is wanted, with its payload; `None` behind the last one.
    fn next(&mut self, wanted: impl Fn(&Chunk) -> bool) -> Result<Option<Chunk>, JlsFault> {
        loop {
            let mut header = [0; HEADER];
            self.file.read_exact(&mut header)?;
            let chunk = Chunk {
                tag: header[16],
                signal: header[18],
                level: header[19] >> 4,
                bytes: u32::from_le_bytes([header[20], header[21], header[22], header[23]]),
            };
            if chunk.tag == END {
                return Ok(None);
            }
            // The length comes from the file: a damaged one could ask for 4 GB of memory.
            if chunk.bytes > MOST_PAYLOAD {
                return Err(JlsFault::Length(chunk.bytes));
            }
            let is_wanted = wanted(&chunk);
            self.payload.clear();
            if is_wanted {
                // Bounded by what is there: a buffer of the length named would be made before the file is known to have it.
                let mut content = self.file.by_ref().take(chunk.bytes.into());
                content.read_to_end(&mut self.payload)?;
            }
            // Padding, so that the chunk with its CRC ends at a multiple of eight bytes.
            let all = match chunk.bytes {
                0 => 0,
                bytes => (u64::from(bytes) + 4).next_multiple_of(8),
            };
            let left = all - self.payload.len() as u64;
            if io::copy(&mut self.file.by_ref().take(left), &mut io::sink())? < left {
                return Err(JlsFault::NotClosed);
            }
            if is_wanted {
                return Ok(Some(chunk));
            }
        }
    }

    /// The index of the first sample, or of the first entry's first sample, of the payload.
    fn begin(&self) -> i64 {
        let begin = self.payload.get(..8).and_then(|bytes| bytes.try_into().ok());
        begin.map_or(0, i64::from_le_bytes)
    }

    /// How many entries the payload has, and the entries.
    fn entries(&self) -> (usize, &[u8]) {
        let count = self.payload.get(8..12).and_then(|bytes| bytes.try_into().ok());
        let count = count.map_or(0, u32::from_le_bytes) as usize;
        (count, self.payload.get(BEFORE_SAMPLES..).unwrap_or_default())
    }
}

/// The samples of a signal with their indices.
struct Samples<R> {
    chunks: Chunks<R>,
    signal: u8,
    /// The index of the next sample, and which of the chunk it is.
    index: i64,
    at: usize,
    is_over: bool,
}

impl<R: Read> Samples<R> {
    fn new(file: R, signal: &Signal) -> Result<Self, JlsFault> {
        if signal.kind != F32 {
            return Err(JlsFault::Type(signal.name.clone()));
        }
        Ok(Self {
            chunks: Chunks::new(file)?,
            signal: signal.number,
            index: 0,
            at: 0,
            is_over: false,
        })
    }

    fn next(&mut self) -> Result<Option<(i64, f64)>, JlsFault> {
        while !self.is_over {
            let (count, samples) = self.chunks.entries();
            let place = self.at * 4..self.at * 4 + 4;
            if let Some(&[a, b, c, d]) = samples.get(place).filter(|_| self.at < count) {
                let index = self.index;
                self.at += 1;
                // The index comes from the file, which may say that nothing can follow.
                self.index = index.saturating_add(1);
                return Ok(Some((index, f32::from_le_bytes([a, b, c, d]).into())));
            }
            let signal = self.signal;
            let is_data = |chunk: &Chunk| chunk.tag == DATA && chunk.signal == signal;
            self.is_over = self.chunks.next(is_data)?.is_none();
            // From the chunk and not counted on: where samples were lost, the next chunk begins later.
            (self.index, self.at) = (self.chunks.begin(), 0);
        }
        Ok(None)
    }
}

/// The voltage beside a current.
enum Volts<R> {
    /// Of the command line.
    Given(f64),
    /// Of the recording, with its sample that was read last.
    Measured(Samples<R>, Option<(i64, f64)>),
}

impl<R: Read> Volts<R> {
    /// The voltage at a sample of the current, if there is one. Indices never go back.
    fn at(&mut self, wanted: i64) -> Result<Option<f64>, JlsFault> {
        let (samples, last) = match self {
            Self::Given(volts) => return Ok(Some(*volts)),
            Self::Measured(samples, last) => (samples, last),
        };
        while last.is_none_or(|(index, _)| index < wanted) {
            *last = samples.next()?;
            if last.is_none() {
                return Ok(None);
            }
        }
        Ok(last.filter(|(index, _)| *index == wanted).map(|(_, volts)| volts))
    }
}

/// When a digital signal rises, in seconds after the sample `first`. A recorder leaves out the samples of a chunk in which the signal does
/// not change: the summaries say what it was then.
fn rises(file: impl Read, signal: &Signal, first: i64) -> Result<Vec<f64>, JlsFault> {
    let mut chunks = Chunks::new(file)?;
    let mut edges = Edges::default();
    let is_of = |chunk: &Chunk| {
        chunk.signal == signal.number && (chunk.tag == DATA || chunk.tag == SUMMARY && chunk.level == 1)
    };
    while let Some(chunk) = chunks.next(is_of)? {
        let (begin, (count, entries)) = (chunks.begin(), chunks.entries());
        let added = match chunk.tag {
            DATA => {
                let bits = (0..count.min(entries.len() * 8)).map(|at| entries[at / 8] >> (at % 8) & 1);
                edges.add(begin, 1, bits.map(|bit| Some(bit == 1)))
            }
            // Mean, deviation, minimum and maximum of each entry.
            _ => {
                let means = entries.chunks_exact(16).take(count);
                let means = means.map(|entry| f32::from_le_bytes([entry[0], entry[1], entry[2], entry[3]]));
                // A mean between both says that it changed within the entry: then the samples themselves are in the file.
                let levels = means.map(|mean| (mean == 0.0 || mean == 1.0).then_some(mean == 1.0));
                edges.add(begin, signal.for_entry.into(), levels)
            }
        };
        added.map_err(|TooManyEdges| JlsFault::NoMarker(signal.name.clone()))?;
    }
    let interval = 1.0 / f64::from(signal.rate);
    let rises = edges.rises().into_iter();
    Ok(rises
        .map(|index| index.saturating_sub(first) as f64 * interval)
        .collect())
}

/// The level of a digital signal at indices.
#[derive(Default)]
struct Edges {
    seen: Vec<(i64, bool)>,
}

/// A signal changes more often than [`MOST_EDGES`].
#[derive(Debug, PartialEq, Eq)]
struct TooManyEdges;

impl Edges {
    /// Adds the levels of a chunk, each of `step` samples; `None` is one that changes. The first is kept, and each that differs from the one
    /// before it. One chunk alone may have more of them than may be kept.
    fn add(
        &mut self,
        begin: i64,
        step: i64,
        levels: impl Iterator<Item = Option<bool>>,
    ) -> Result<(), TooManyEdges> {
        let mut before = None;
        for (at, level) in (0..).zip(levels) {
            if let Some(is_high) = level.filter(|_| level != before) {
                if self.seen.len() >= MOST_EDGES {
                    return Err(TooManyEdges);
                }
                self.seen
                    .push((begin.saturating_add(step.saturating_mul(at)), is_high));
            }
            before = level;
        }
        Ok(())
    }

    /// The indices at which the signal rises. A file has the summaries of samples behind those samples.
    fn rises(mut self) -> Vec<i64> {
        self.seen.sort_unstable();
        let pairs = self.seen.windows(2);
        let rises = pairs.filter(|pair| !pair[0].1 && pair[1].1);
        rises.map(|pair| pair[1].0).collect()
    }
}

#[cfg(test)]
mod tests;
