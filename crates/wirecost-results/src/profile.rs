//! CPU profiles as folded stacks. Each line is one stack: its frames from the outermost to the innermost, separated by
//! `;`, then the number of samples. [`fold`] reads the output of `perf script`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The suffix of a frame of the kernel.
pub const KERNEL: &str = "_[k]";

/// Folded stacks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Folded {
    /// The number of samples of each stack.
    stacks: BTreeMap<String, u64>,
}

impl Folded {
    /// Reads folded stacks. Other lines are skipped.
    pub fn read(text: &str) -> Self {
        let mut folded = Self::default();
        for line in text.lines() {
            if let Some((stack, count)) = line.rsplit_once(' ')
                && let Ok(count) = count.parse::<u64>()
                && !stack.is_empty()
            {
                folded.add(stack.to_owned(), count);
            }
        }
        folded
    }

    /// The stacks as text, one per line, in the order of their frames.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (stack, count) in &self.stacks {
            let _ = writeln!(text, "{stack} {count}");
        }
        text
    }

    /// The frames of each stack, outermost first, with the number of samples.
    pub fn stacks(&self) -> impl Iterator<Item = (std::str::Split<'_, char>, u64)> {
        self.stacks
            .iter()
            .map(|(stack, count)| (stack.split(';'), *count))
    }

    /// The number of samples of all stacks.
    pub fn samples(&self) -> u64 {
        self.stacks.values().sum()
    }

    /// Whether there are no samples.
    pub fn is_empty(&self) -> bool {
        self.stacks.is_empty()
    }

    fn add(&mut self, stack: String, count: u64) {
        *self.stacks.entry(stack).or_default() += count;
    }
}

/// Folds the output of `perf script -F comm,ip,sym`. Each sample is a line with the name of the thread, a line per
/// frame from the innermost to the outermost (an address, then the symbol or `[unknown]`), and an empty line. The name
/// of the thread becomes the outermost frame. A frame of the kernel ends with [`KERNEL`].
pub fn fold(script: &str) -> Folded {
    let mut folded = Folded::default();
    let mut sample: Option<(String, Vec<String>)> = None;
    for line in script.lines() {
        match (line.trim(), &mut sample) {
            ("", _) => finish(&mut folded, sample.take()),
            (text, Some((_, frames))) if line.starts_with([' ', '\t']) => frames.push(symbol(text)),
            (text, _) => {
                finish(&mut folded, sample.take());
                sample = Some((frame(text), Vec::new()));
            }
        }
    }
    finish(&mut folded, sample);
    folded
}

fn finish(folded: &mut Folded, sample: Option<(String, Vec<String>)>) {
    let Some((thread, frames)) = sample else {
        return;
    };
    let stack = frames
        .into_iter()
        .rev()
        .fold(thread, |stack, frame| stack + ";" + &frame);
    folded.add(stack, 1);
}

/// The symbol after the address, without the hash that Rust appends.
fn symbol(line: &str) -> String {
    let (address, name) = line.split_once(' ').unwrap_or((line, "[unknown]"));
    let name = name.trim();
    // The kernel has the upper half of the address space.
    let is_kernel = address.len() == 16 && address.starts_with("ffff");
    let mark = if is_kernel { KERNEL } else { "" };
    let is_hash = |hash: &str| hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    let name = match name.rsplit_once("::h") {
        Some((plain, hash)) if is_hash(hash) => plain,
        _ => name,
    };
    frame(name) + mark
}

/// The name of a frame, with separators replaced.
fn frame(name: &str) -> String {
    let replace = |c: char| if c == ';' || c.is_control() { ',' } else { c };
    name.chars().map(replace).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCRIPT: &str = "broker\n\tffffffff81230000 tcp_sendmsg\n\t 55e0 mio::poll::h0123456789abcdef\n\t 55e1 main\n\n\
                          broker\n\tffffffff81230000 tcp_sendmsg\n\t 55e0 mio::poll::h0123456789abcdef\n\t 55e1 main\n\n\
                          io thread\n\t 7f00 [unknown]\n";

    #[test]
    fn stacks_are_turned_around_and_counted() {
        let folded = fold(SCRIPT);
        assert_eq!(
            folded.text(),
            "broker;main;mio::poll;tcp_sendmsg_[k] 2\nio thread;[unknown] 1\n"
        );
        assert_eq!(folded.samples(), 3);
    }

    #[test]
    fn folded_stacks_are_read_back() {
        let folded = fold(SCRIPT);
        assert_eq!(Folded::read(&folded.text()), folded);
        assert!(Folded::read("no number\n 3\n").is_empty());
    }

    #[test]
    fn a_name_with_a_separator_is_one_frame() {
        let folded = fold("a;b\n\t1 <x as y;z>::f\n");
        assert_eq!(folded.text(), "a,b;<x as y,z>::f 1\n");
    }
}
