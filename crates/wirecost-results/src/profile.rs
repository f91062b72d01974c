//! CPU profiles as folded stacks: one line per stack, frames from the outermost to the innermost with `;` between them,
//! then how often it was seen.
//! [`fold`] reads what `perf script` prints.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// What marks a frame of the kernel.
pub const KERNEL: &str = "_[k]";

/// Folded stacks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Folded {
    /// How often each stack was seen.
    stacks: BTreeMap<String, u64>,
}

impl Folded {
    /// Reads folded stacks; lines that are none are left out.
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

    /// Each stack's frames, outermost first, and how often it was seen.
    pub fn stacks(&self) -> impl Iterator<Item = (std::str::Split<'_, char>, u64)> {
        self.stacks
            .iter()
            .map(|(stack, count)| (stack.split(';'), *count))
    }

    /// How many samples there are.
    pub fn samples(&self) -> u64 {
        self.stacks.values().sum()
    }

    /// Whether there is no sample.
    pub fn is_empty(&self) -> bool {
        self.stacks.is_empty()
    }

    fn add(&mut self, stack: String, count: u64) {
        *self.stacks.entry(stack).or_default() += count;
    }
}

/// Folds what `perf script -F comm,ip,sym` prints: a line with the thread's name, a line per frame from the innermost on
/// (an address, then the symbol or `[unknown]`), an empty line. The thread's name is the outermost frame; a frame of the
/// kernel ends with [`KERNEL`].
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

/// The symbol behind the address, without the hash that Rust puts at its end.
fn symbol(line: &str) -> String {
    let (address, name) = line.split_once(' ').unwrap_or((line, "[unknown]"));
    let name = name.trim();
    // The upper half of the address space is the kernel's.
    let is_kernel = address.len() == 16 && address.starts_with("ffff");
    let mark = if is_kernel { KERNEL } else { "" };
    let is_hash = |hash: &str| hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    let name = match name.rsplit_once("::h") {
        Some((plain, hash)) if is_hash(hash) => plain,
        _ => name,
    };
    frame(name) + mark
}

/// A frame's name, which the separators must not cut.
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
