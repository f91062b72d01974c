//! `.ppk2` files of the Power Profiler app (nRF Connect): a ZIP of `metadata.json` and `session.raw`, whose frames of 6 bytes are a
//! current in microamperes and two bits for each digital channel. The file is read from its begin to its end, twice: what the frames
//! need stands behind them.

mod unpacked;

use std::fmt;
use std::io::{self, BufRead, BufReader, Read};

use unpacked::Unpacked;
use wirecost_energy::fit::bins::{Binner, TraceBins};
use wirecost_energy::trace::Sample;

use super::MOST_EDGES;
use crate::arguments::CostArguments;

/// Bytes of a frame.
const FRAME: usize = 6;

/// The most bytes of the metadata.
const MOST_METADATA: u64 = 1 << 20;

const LOCAL: [u8; 4] = *b"PK\x03\x04";

/// What is wrong with such a file.
#[derive(Debug)]
pub enum SessionFault {
    /// It cannot be read.
    Read(io::Error),
    /// It is no ZIP.
    NoZip,
    /// A file in it is compressed in a way that the app does not use: the method's number.
    Method(u64),
    /// A file in it is stored without its size before it, or with one that 32 bits cannot say.
    NoSize,
    /// A file is missing in it.
    Missing(&'static str),
    /// The metadata have no rate.
    NoRate,
    /// No voltage was given.
    NoVoltage,
    /// There is no such digital channel.
    NoChannel(String),
    /// A digital channel changes all the time.
    NoMarker(u32),
    /// A sample is no number.
    NotANumber(u64),
}

impl fmt::Display for SessionFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(error) => write!(f, "cannot be read: {error}"),
            Self::NoZip => f.write_str("is no .ppk2 file: it is no ZIP"),
            Self::Method(number) => write!(
                f,
                "a file in it is compressed by method {number}, which is not read"
            ),
            Self::NoSize => f.write_str("a file in it is stored without its size before it"),
            Self::Missing(name) => write!(f, "{name} is missing in it"),
            Self::NoRate => f.write_str("metadata.json has no samplesPerSecond"),
            Self::NoVoltage => f.write_str("a .ppk2 file has no voltage"),
            Self::NoChannel(name) => write!(f, "there is no digital channel {name}"),
            Self::NoMarker(channel) => write!(
                f,
                "D{channel} changes more than {MOST_EDGES} times: it marks no messages"
            ),
            Self::NotANumber(index) => write!(f, "the current of sample {index} is not a number"),
        }
    }
}

impl SessionFault {
    /// What to do about it.
    pub const fn hint(&self) -> &'static str {
        match self {
            Self::NoVoltage => "give the voltage of the supply with --volts 3.7V",
            Self::NoChannel(_) => "name one of D0 to D7",
            Self::NoMarker(_) => {
                "name the channel that marks messages with --marker-channel, one of D0 to D7"
            }
            _ => "save the session again with the Power Profiler app, or export it as CSV",
        }
    }
}

impl From<io::Error> for SessionFault {
    fn from(error: io::Error) -> Self {
        Self::Read(error)
    }
}

/// Reads a session, from two readers of one file: its bins, and when the marker rises.
pub fn read(
    [first, again]: [impl Read; 2],
    arguments: &CostArguments,
) -> Result<(Option<TraceBins>, Vec<f64>), SessionFault> {
    // The file has currents alone: the meter supplies the device or sits in its supply, and does not record the voltage.
    let volts = arguments.volts.ok_or(SessionFault::NoVoltage)?;
    let channel = arguments.marker_channel.as_deref().map(channel).transpose()?;
    let mut metadata = Vec::new();
    in_zip(first, "metadata.json", |content| {
        // What is unpacked may be far longer than the file: its few bytes could fill the memory.
        content.take(MOST_METADATA).read_to_end(&mut metadata)?;
        Ok(())
    })?;
    let metadata: serde_json::Value = serde_json::from_slice(&metadata).map_err(|_| SessionFault::NoRate)?;
    let rate = metadata["metadata"]["samplesPerSecond"].as_f64();
    let rate = rate.filter(|rate| *rate > 0.0).ok_or(SessionFault::NoRate)?;
    let mut frames = Frames {
        interval: 1.0 / rate,
        volts,
        channel,
        index: 0,
        // A pin that is high in the first sample has not risen in this trace.
        is_high: true,
        edges: 0,
        rises: Vec::new(),
        binner: Binner::default(),
    };
    in_zip(again, "session.raw", |content| frames.all(content))?;
    Ok((frames.binner.finish(), frames.rises))
}

fn channel(name: &str) -> Result<u32, SessionFault> {
    let number = name
        .strip_prefix(['D', 'd'])
        .and_then(|number| number.parse().ok());
    number
        .filter(|number| *number < 8)
        .ok_or_else(|| SessionFault::NoChannel(name.to_owned()))
}

/// Reads frames.
struct Frames {
    interval: f64,
    volts: f64,
    channel: Option<u32>,
    index: u64,
    is_high: bool,
    /// How often the channel has changed.
    edges: usize,
    rises: Vec<f64>,
    binner: Binner,
}

impl Frames {
    fn all(&mut self, content: &mut dyn BufRead) -> Result<(), SessionFault> {
        let mut frame = [0; FRAME];
        loop {
            match content.read_exact(&mut frame) {
                Ok(()) => self.one(frame)?,
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn one(&mut self, frame: [u8; FRAME]) -> Result<(), SessionFault> {
        let [a, b, c, d, low, high] = frame;
        let microamperes = f64::from(f32::from_le_bytes([a, b, c, d]));
        let seconds = self.index as f64 * self.interval;
        // Also of a lost sample: time goes on in a gap.
        self.index += 1;
        // The app writes no number where it lost samples: a gap.
        if microamperes.is_nan() {
            return Ok(());
        }
        if !microamperes.is_finite() {
            return Err(SessionFault::NotANumber(self.index));
        }
        let amperes = microamperes * 1e-6;
        self.binner.add(Sample {
            seconds,
            amperes,
            watts: amperes * self.volts,
        });
        if let Some(channel) = self.channel {
            // 01 is low, 10 high, 11 both within the sample.
            let is_high = u16::from_le_bytes([low, high]) >> (channel * 2) & 0b10 != 0;
            if is_high != self.is_high {
                self.edges += 1;
                if self.edges > MOST_EDGES {
                    return Err(SessionFault::NoMarker(channel));
                }
                self.rises.extend(is_high.then_some(seconds));
            }
            self.is_high = is_high;
        }
        Ok(())
    }
}

/// Gives the content of a file in a ZIP to `take`.
fn in_zip(
    source: impl Read,
    wanted: &'static str,
    take: impl FnOnce(&mut dyn BufRead) -> Result<(), SessionFault>,
) -> Result<(), SessionFault> {
    let mut source = BufReader::new(source);
    let mut is_first = true;
    loop {
        let mut header = [0; 30];
        let begin = match is_first {
            true => source.read_exact(&mut header[..4]).is_ok() && header[..4] == LOCAL,
            false => next_header(&mut source)?,
        };
        if !begin {
            return Err(if is_first {
                SessionFault::NoZip
            } else {
                SessionFault::Missing(wanted)
            });
        }
        is_first = false;
        source.read_exact(&mut header[4..])?;
        let short = |at: usize| u64::from(u16::from_le_bytes([header[at], header[at + 1]]));
        let size = u64::from(u32::from_le_bytes([
            header[18], header[19], header[20], header[21],
        ]));
        let (method, name, extra) = (short(8), short(26), short(28));
        let mut text = Vec::new();
        source.by_ref().take(name).read_to_end(&mut text)?;
        io::copy(&mut source.by_ref().take(extra), &mut io::sink())?;
        let is_wanted = text == wanted.as_bytes();
        match method {
            8 => {
                let mut content = BufReader::new(Unpacked::new(&mut source));
                if is_wanted {
                    return take(&mut content);
                }
                io::copy(&mut content, &mut io::sink())?;
            }
            // Without compression nothing but the size says where the file ends (APPNOTE.TXT, sections 4.4.4 and 4.4.9).
            0 if header[6] & 0x08 != 0 || size == u64::from(u32::MAX) => return Err(SessionFault::NoSize),
            0 => {
                let mut content = source.by_ref().take(size);
                if is_wanted {
                    return take(&mut content);
                }
                io::copy(&mut content, &mut io::sink())?;
            }
            other => return Err(SessionFault::Method(other)),
        }
    }
}

/// Whether another file follows: its signature comes at once, or behind the sizes of the file before it.
fn next_header(source: &mut impl BufRead) -> Result<bool, SessionFault> {
    let mut seen = [0; 4];
    // A data descriptor has at most 24 bytes (APPNOTE.TXT, section 4.3.9): behind 64 nothing follows that is a file.
    for _ in 0..64 {
        let mut byte = [0];
        if source.read(&mut byte)? == 0 {
            return Ok(false);
        }
        seen.rotate_left(1);
        seen[3] = byte[0];
        if seen == LOCAL {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::DeflateEncoder;

    use super::*;

    /// A ZIP as a program writes it that does not know the sizes before: they stand behind each file.
    fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut all = Vec::new();
        for (name, content) in files {
            all.extend(LOCAL);
            all.extend([20, 0, 8, 0, 8, 0]);
            all.extend([0; 16]);
            all.extend((name.len() as u16).to_le_bytes());
            all.extend([0, 0]);
            all.extend(name.as_bytes());
            let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(content).expect("a vector");
            all.extend(encoder.finish().expect("a vector"));
            all.extend(b"PK\x07\x08");
            all.extend([0; 12]);
        }
        all
    }

    fn arguments(channel: Option<&str>) -> CostArguments {
        use clap::Parser as _;
        #[derive(clap::Parser)]
        struct Line {
            #[command(flatten)]
            cost: CostArguments,
        }
        let mut words = vec![
            "cost",
            "--fit",
            "a",
            "--capture",
            "b",
            "--device",
            "c",
            "--volts",
            "2V",
        ];
        words.extend(channel.iter().flat_map(|name| ["--marker-channel", name]));
        Line::parse_from(words).cost
    }

    fn session() -> Vec<u8> {
        let frames = (0..200_u16).flat_map(|index| {
            let current: f32 = if index == 150 { f32::NAN } else { 1e3 };
            // D0 is low, D1 rises at the hundredth sample.
            let bits: u16 = if index < 100 { 0b0101 } else { 0b1001 };
            let mut frame = current.to_le_bytes().to_vec();
            frame.extend(bits.to_le_bytes());
            frame
        });
        frames.collect()
    }

    #[test]
    fn a_session_is_read_with_the_rate_that_stands_behind_it() {
        let metadata = br#"{"metadata":{"samplesPerSecond":1000,"startSystemTime":0},"formatVersion":2}"#;
        let file = zip(&[("session.raw", &session()), ("metadata.json", metadata)]);
        let (bins, rises) = read([&file[..], &file[..]], &arguments(Some("D1"))).expect("a session");
        let bins = bins.expect("samples");
        assert_eq!((bins.len(), rises), (200, vec![0.1]));
        assert!((bins.width - 1e-3).abs() < 1e-9 && (bins.volts - 2.0).abs() < 1e-9);
        assert!((bins.watts()[7] - 2e-3).abs() < 1e-9);
    }

    #[test]
    fn a_marker_that_changes_all_the_time_is_refused() {
        let mut frames = Frames {
            interval: 1e-5,
            volts: 2.0,
            channel: Some(1),
            index: 0,
            is_high: true,
            edges: 0,
            rises: Vec::new(),
            binner: Binner::default(),
        };
        let frame = |bits| [0, 0, 0x80, 0x3f, bits, 0];
        let mut changing = [0b0100, 0b1000].map(frame).into_iter().cycle();
        let refused = changing
            .find_map(|frame| frames.one(frame).err())
            .expect("refused");
        assert_eq!(
            refused.to_string(),
            "D1 changes more than 1048576 times: it marks no messages"
        );
        assert_eq!(
            (frames.index, frames.rises.len()),
            (MOST_EDGES as u64 + 1, MOST_EDGES / 2)
        );
    }

    #[test]
    fn what_is_no_session_is_refused() {
        let refused = |file: &[u8], channel| {
            read([file, file], &arguments(channel))
                .expect_err("refused")
                .to_string()
        };
        assert_eq!(refused(b"time,current", None), "is no .ppk2 file: it is no ZIP");
        let file = zip(&[("session.raw", &session())]);
        assert_eq!(refused(&file, None), "metadata.json is missing in it");
        assert_eq!(refused(&file, Some("D9")), "there is no digital channel D9");
        let file = zip(&[("metadata.json", b"{}")]);
        assert_eq!(refused(&file, None), "metadata.json has no samplesPerSecond");
        // A stored file whose size stands behind it: bit 3 of the flags, method 0.
        let mut stored = [LOCAL.as_slice(), &[20, 0, 8, 0, 0, 0]].concat();
        stored.resize(30, 0);
        stored[26] = 11;
        stored.extend(b"session.raw\x01\x02");
        assert_eq!(
            refused(&stored, None),
            "a file in it is stored without its size before it"
        );
    }
}
