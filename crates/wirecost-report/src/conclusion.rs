//! The conclusion of a comparison in words: which stack takes the fewest bytes, and whether any answers faster. Plain
//! and secured stacks have a sentence each. A sentence names a difference in time only where it is significant.

use wirecost_proto::units::counted;
use wirecost_results::all_in::Parts;
use wirecost_results::{Cell, Summary};

use crate::columns::{Column, Rank, ends_with_arrival, is_lossy, shown};
use crate::groups::Group;
use crate::names::{Names, distinct, is_modelled, is_secured};
use crate::number::{self, whole_bytes};
use crate::per::Per;

/// Why there is nothing to compare.
const CUT_SHORT: &str = "not all messages were sent, so that no bytes are compared";
/// The largest number of stacks that a sentence lists.
const LISTED: usize = 3;

/// One sentence for plain stacks and one for secured stacks; none where no cell is valid. After them come some of `policies`,
/// the sentences about kept connections.
pub(crate) fn sentences(summary: &Summary, per: Per, policies: Vec<String>) -> Vec<String> {
    let groups: Vec<Group<'_>> = Group::all(summary);
    let has_both = groups.iter().any(Group::has_both_protections);
    let sentence = |secured: bool| {
        let cells = groups.iter().map(|group| comparable(group, secured));
        let cells: Vec<Vec<&Cell>> = cells.filter(|cells| !cells.is_empty()).collect();
        let names = &groups.first()?.names;
        let said = match &cells[..] {
            [] => return None,
            [cells] => of_one_group(cells, names, per),
            cells => of_many_groups(cells, names, per),
        };
        let kind = match (has_both, secured) {
            (false, _) => "",
            (true, false) => "plain",
            (true, true) => "secured",
        };
        let engine = if cells.iter().flatten().all(|cell| is_modelled(cell)) {
            "simulated"
        } else {
            ""
        };
        let about: Vec<&str> = [kind, engine]
            .into_iter()
            .filter(|word| !word.is_empty())
            .collect();
        let about = about.join(", ");
        Some(if about.is_empty() {
            said
        } else {
            format!("{about}: {said}")
        })
    };
    let beyond = policies.len().saturating_sub(LISTED);
    let more = (beyond > 0).then(|| {
        format!(
            "{} on kept connections in report.html",
            counted(beyond as u64, "more sentence")
        )
    });
    [false, true]
        .into_iter()
        .filter_map(sentence)
        .chain(policies.into_iter().take(LISTED))
        .chain(more)
        .collect()
}

/// The cells that a sentence may speak of. Live cells and simulated ones are never compared.
fn comparable<'a>(group: &Group<'a>, secured: bool) -> Vec<&'a Cell> {
    let may_compare = |cell: &&Cell| cell.valid && cell.message.is_some() && is_secured(cell) == secured;
    group.charted().iter().filter(may_compare).collect()
}

fn of_one_group(cells: &[&Cell], names: &Names, per: Per) -> String {
    let basis = Basis::of(cells, per);
    let bytes = match cells {
        [cell] => basis.in_full(cell, names),
        cells if cells.len() <= LISTED => basis.each(cells, names),
        cells => basis.extremes(cells, names),
    };
    let lossy = cells.iter().any(|cell| is_lossy(cell));
    let note = lossy.then(|| "bytes are means under loss".to_owned());
    let parts = [Some(bytes), note, times(cells, names)];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// How often each stack takes the fewest bytes.
fn of_many_groups(groups: &[Vec<&Cell>], names: &Names, per: Per) -> String {
    let is_answered = |cell: &Cell| !ends_with_arrival(cell);
    let all: Vec<&Cell> = groups.iter().flatten().copied().collect();
    if let [name] = &distinct(all.iter().map(|cell| names.contender(cell)))[..] {
        return range(&all, name, per);
    }
    let fewest = format!("fewest IP bytes: {}", winners(groups, names, per, |_| true));
    if all.iter().any(|cell| is_answered(cell)) && !all.iter().all(|cell| is_answered(cell)) {
        let answered = winners(groups, names, per, is_answered);
        return format!("{fewest}; of acknowledged messages: {answered}");
    }
    fewest
}

/// The least and the most bytes of a stack that has no competitor.
fn range(cells: &[&Cell], name: &str, per: Per) -> String {
    let basis = Basis::of(cells, per);
    match &basis.ascending(cells)[..] {
        [(_, least), .., (_, most)] if least != most => {
            format!("{name} takes {} to {}", basis.short(*least), basis.words(*most))
        }
        [(_, bytes), ..] => format!("{name} takes {}", basis.words(*bytes)),
        [] => CUT_SHORT.to_owned(),
    }
}

/// The stacks that take the fewest bytes of the competing ones, the most frequent first, with the numbers of their groups.
fn winners(groups: &[Vec<&Cell>], names: &Names, per: Per, competes: fn(&Cell) -> bool) -> String {
    let winner = |cells: &Vec<&Cell>| {
        let cells: Vec<&Cell> = cells.iter().copied().filter(|cell| competes(cell)).collect();
        let best = Basis::of(&cells, per).ascending(&cells).first().copied();
        best.map(|(cell, _)| names.contender(cell))
    };
    let winners: Vec<String> = groups.iter().filter_map(winner).collect();
    let count = |name: &String| winners.iter().filter(|winner| *winner == name).count();
    let mut stacks = distinct(winners.iter().cloned());
    stacks.sort_by_key(|name| std::cmp::Reverse(count(name)));
    let word = |(place, name): (usize, &String)| match place {
        0 => format!(
            "{name} in {} of {}",
            count(name),
            counted(winners.len() as u64, "case")
        ),
        _ => format!("{name} in {}", count(name)),
    };
    let mut words: Vec<String> = stacks.iter().take(LISTED).enumerate().map(word).collect();
    if stacks.len() > LISTED {
        words.push(counted((stacks.len() - LISTED) as u64, "other stack"));
    }
    words.join(", ")
}

/// The bytes that a sentence compares: all-in bytes where a message has a share of the rest, else those of a message.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Basis {
    AllIn(Per),
    Message,
}

impl Basis {
    fn of(cells: &[&Cell], per: Per) -> Self {
        let all_in = Column::AllIn(per);
        let has_values = cells.iter().any(|cell| all_in.value(cell).is_some());
        if has_values && shown(cells, per).contains(&all_in) {
            Self::AllIn(per)
        } else {
            Self::Message
        }
    }

    const fn column(self) -> Column {
        match self {
            Self::AllIn(per) => Column::AllIn(per),
            Self::Message => Column::Total,
        }
    }

    /// The cells with their bytes, fewest first; without those that may not be compared.
    fn ascending<'a>(self, cells: &[&'a Cell]) -> Vec<(&'a Cell, f64)> {
        let column = self.column();
        let with_bytes = cells
            .iter()
            .filter(|cell| column.is_comparable(cell))
            .filter_map(|cell| Some((*cell, column.value(cell)?)));
        let mut all: Vec<(&Cell, f64)> = with_bytes.collect();
        all.sort_by(|a, b| a.1.total_cmp(&b.1));
        all
    }

    /// The bytes of the first cell that is named.
    fn words(self, bytes: f64) -> String {
        match self {
            Self::AllIn(per) => per.words(bytes),
            Self::Message => format!("{} a message", whole_bytes(bytes)),
        }
    }

    /// The bytes of another cell.
    fn short(self, bytes: f64) -> String {
        match self {
            Self::AllIn(per @ (Per::Day | Per::Month)) => per.text(bytes),
            Self::AllIn(Per::Message) | Self::Message => whole_bytes(bytes),
        }
    }

    fn connection(self, cell: &Cell) -> String {
        let bytes = Column::Connection.value(cell).filter(|bytes| *bytes > 0.0);
        match bytes.filter(|_| self == Self::Message) {
            Some(bytes) => format!(" and {} per connection", whole_bytes(bytes)),
            None => String::new(),
        }
    }

    /// One cell and what its bytes consist of.
    fn in_full(self, cell: &Cell, names: &Names) -> String {
        let bytes = self.column().value(cell).unwrap_or_default();
        let name = names.contender(cell);
        if !self.column().is_comparable(cell) {
            return format!(
                "{name} did not send all its messages; those that it sent take {}",
                self.words(bytes)
            );
        }
        let text = format!("{name} takes {}{}", self.words(bytes), self.connection(cell));
        let Some(parts) = Parts::of(cell).filter(|_| self != Self::Message) else {
            return text;
        };
        let shares = [
            (parts.message, "for itself"),
            (parts.connection, "for connect and close"),
            (parts.keep_alive, "for keep-alive"),
        ];
        let shares = shares.into_iter().filter(|(bytes, _)| *bytes > 0.0);
        let shares: Vec<String> = shares
            .map(|(bytes, what)| format!("{} {what}", whole_bytes(bytes)))
            .collect();
        let each = match (self, cell.all_in()) {
            (Self::AllIn(Per::Day | Per::Month), Some(all_in)) => {
                format!(": {} a message all-in", whole_bytes(all_in.each()))
            }
            _ => String::new(),
        };
        format!("{text}{each}, of which {}", shares.join(", "))
    }

    /// Every cell with its bytes.
    fn each(self, cells: &[&Cell], names: &Names) -> String {
        let all = self.ascending(cells);
        if all.is_empty() {
            return CUT_SHORT.to_owned();
        }
        let said = all.iter().enumerate().map(|(place, (cell, bytes))| {
            let name = names.contender(cell);
            let bytes = match place {
                0 => format!("takes {}", self.words(*bytes)),
                _ => self.short(*bytes),
            };
            format!("{name} {bytes}{}", self.connection(cell))
        });
        said.collect::<Vec<_>>().join(", ")
    }

    /// The cells with the fewest and the most bytes; the unacknowledged ones apart.
    fn extremes(self, cells: &[&Cell], names: &Names) -> String {
        let all = self.ascending(cells);
        let (Some(fewest), Some(most)) = (all.first(), all.last()) else {
            return CUT_SHORT.to_owned();
        };
        if fewest.1 == most.1 {
            return format!("all {} stacks take {}", all.len(), self.words(fewest.1));
        }
        let of_value = |value: f64, applies: &dyn Fn(&Cell) -> bool| {
            let alike = all
                .iter()
                .filter(|(cell, bytes)| *bytes == value && applies(cell));
            listed(&alike.map(|(cell, _)| names.contender(cell)).collect::<Vec<_>>())
        };
        let is_unanswered = ends_with_arrival(fewest.0);
        let first = of_value(fewest.1, &|cell| ends_with_arrival(cell) == is_unanswered);
        let mark = if is_unanswered { " (unacknowledged)" } else { "" };
        let mut text = format!("fewest IP bytes: {first} {}{mark}", self.words(fewest.1));
        let answered = all.iter().find(|(cell, _)| !ends_with_arrival(cell));
        if let Some((_, bytes)) = answered.filter(|_| is_unanswered) {
            let names = of_value(*bytes, &|cell| !ends_with_arrival(cell));
            text += &format!(", {names} {} (acknowledged)", self.short(*bytes));
        }
        text + &format!(", most: {} {}", of_value(most.1, &|_| true), self.short(most.1))
    }
}

/// Which answers are fastest, as far as the samples tell; `None` without answers to compare.
fn times(cells: &[&Cell], names: &Names) -> Option<String> {
    let answered: Vec<&Cell> = cells
        .iter()
        .copied()
        .filter(|cell| !ends_with_arrival(cell))
        .collect();
    let ranks = Column::Mean.ranks(&answered);
    let of_rank = |wanted: fn(Rank) -> bool| -> Vec<&Cell> {
        let ranked = answered.iter().zip(&ranks);
        ranked
            .filter(|(_, rank)| wanted(**rank))
            .map(|(cell, _)| *cell)
            .collect()
    };
    let alike = of_rank(|rank| rank == Rank::Alike);
    let best = of_rank(Rank::is_among_the_best);
    let millis = |cell: &Cell| number::optional(Column::Mean.value(cell), number::millis);
    match (&alike[..], &best[..]) {
        ([_, _, ..], _) => Some("no significant difference in response time".to_owned()),
        (_, []) if answered.len() > 1 && of_rank(|rank| rank == Rank::Unsure).len() == answered.len() => {
            Some("too few samples to compare response times".to_owned())
        }
        (_, []) => None,
        (_, best) => {
            let values = answered
                .iter()
                .filter_map(|cell| Some((*cell, Column::Mean.value(cell)?)));
            let (slow, nanos) = values.max_by(|a, b| a.1.total_cmp(&b.1))?;
            let slow = format!("slowest: {} {} ms", names.contender(slow), number::millis(nanos));
            let fastest = match best {
                [one] => format!("fastest answer: {} {} ms", names.contender(one), millis(one)),
                some if some.len() <= LISTED => {
                    let labels: Vec<String> = some.iter().map(|cell| names.contender(cell)).collect();
                    format!(
                        "fastest answers: {} without a significant difference",
                        listed(&labels)
                    )
                }
                some => format!(
                    "no significant difference between the {} fastest answers",
                    some.len()
                ),
            };
            Some(format!("{fastest}, {slow}"))
        }
    }
}

/// Names in a sentence: `a`, `a and b`, or the number of many.
fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        some if some.len() > LISTED => format!("{} stacks", some.len()),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
