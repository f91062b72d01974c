//! The conclusion of a comparison in words: which stack takes the fewest bytes, and whether any answers faster. Plain
//! and secured stacks have a sentence each. A sentence names a difference in time only where it is significant.

use wirecost_proto::units::counted;
use wirecost_results::all_in::Parts;
use wirecost_results::{Cell, Summary};

use crate::columns::{Column, Contest, NO_DIFFERENCE, TOO_FEW_SAMPLES, ends_with_arrival, shown};
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
    // Plain stacks are always cheaper: in one sentence they would hide which secured one is.
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
            (true, true) => "encrypted",
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
    let basis = Basis::from_cells(cells, per);
    let bytes = match cells {
        [cell] => basis.in_full(cell, names),
        cells if cells.len() <= LISTED => basis.each(cells, names),
        cells => basis.extremes(cells, names),
    };
    let lossy = cells.iter().any(|cell| cell.is_lossy());
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
    let basis = Basis::from_cells(cells, per);
    match &basis.ascending(cells)[..] {
        [(_, least), .., (_, most)] if least != most => {
            format!("{name} takes {} to {}", basis.short(*least), basis.words(*most))
        }
        [(_, bytes), ..] => format!("{name} takes {}", basis.words(*bytes)),
        [] => CUT_SHORT.to_owned(),
    }
}

/// The stacks that take the fewest bytes of the competing ones, the most frequent first, with the numbers of their groups; last the
/// groups without a winner.
fn winners(groups: &[Vec<&Cell>], names: &Names, per: Per, competes: fn(&Cell) -> bool) -> String {
    let answer = |cells: &Vec<&Cell>| {
        let cells: Vec<&Cell> = cells.iter().copied().filter(|cell| competes(cell)).collect();
        match Basis::from_cells(&cells, per).column().contest(&cells) {
            Contest::Nothing => None,
            Contest::Best(best) => {
                let best: Vec<String> = best.iter().map(|cell| names.contender(cell)).collect();
                Some(listed(&best))
            }
            Contest::NoDifference(_) => Some(NO_DIFFERENCE.to_owned()),
            Contest::TooFew(_) => Some(TOO_FEW_SAMPLES.to_owned()),
        }
    };
    let answers: Vec<String> = groups.iter().filter_map(answer).collect();
    let count = |name: &String| answers.iter().filter(|answer| *answer == name).count();
    let has_none = |name: &&String| [NO_DIFFERENCE, TOO_FEW_SAMPLES].contains(&name.as_str());
    let mut all = distinct(answers.iter().cloned());
    // "No difference" is no winner: it comes last, however frequent it is.
    all.sort_by_key(|name| (has_none(&name), std::cmp::Reverse(count(name))));
    let (none, stacks): (Vec<&String>, Vec<&String>) = all.iter().partition(has_none);
    let named = stacks.iter().take(LISTED).chain(&none).enumerate();
    let word = |(place, name): (usize, &&String)| match place {
        0 => format!(
            "{name} in {} of {}",
            count(name),
            counted(answers.len() as u64, "case")
        ),
        _ => format!("{name} in {}", count(name)),
    };
    let mut words: Vec<String> = named.map(word).collect();
    if stacks.len() > LISTED {
        let beyond = counted((stacks.len() - LISTED) as u64, "other stack");
        words.insert(LISTED, beyond);
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
    fn from_cells(cells: &[&Cell], per: Per) -> Self {
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
            Self::AllIn(per @ (Per::Day | Per::Month | Per::Year)) => per.text(bytes),
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
        let Some(parts) = Parts::from_cell(cell).filter(|_| self != Self::Message) else {
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
            (Self::AllIn(Per::Day | Per::Month | Per::Year), Some(all_in)) => {
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
        let said = said.collect::<Vec<_>>().join(", ");
        match self.column().contest(cells) {
            Contest::TooFew(_) => format!("{said}: {TOO_FEW_SAMPLES} which takes fewer"),
            // Equal numbers say it themselves.
            Contest::NoDifference(_) if all.first().map(|one| one.1) != all.last().map(|one| one.1) => {
                format!("{said}: {NO_DIFFERENCE}")
            }
            Contest::Nothing | Contest::Best(_) | Contest::NoDifference(_) => said,
        }
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
        let range = || {
            format!(
                "{} stacks take {} to {}",
                all.len(),
                self.short(fewest.1),
                self.words(most.1)
            )
        };
        let best = match self.column().contest(cells) {
            Contest::Nothing => return CUT_SHORT.to_owned(),
            Contest::NoDifference(_) => return format!("{}: {NO_DIFFERENCE}", range()),
            Contest::TooFew(_) => return format!("{}: {TOO_FEW_SAMPLES} which takes the fewest", range()),
            Contest::Best(best) => best,
        };
        // Without acknowledgements a stack saves bytes by not knowing whether the message arrived: the cheapest that knows is named too.
        let is_unanswered = ends_with_arrival(fewest.0);
        let alike = |cells: &[&Cell], answers: bool| {
            let alike = cells.iter().filter(|cell| ends_with_arrival(cell) != answers);
            listed(&alike.map(|cell| names.contender(cell)).collect::<Vec<_>>())
        };
        let mark = if is_unanswered { " (unacknowledged)" } else { "" };
        let first = alike(&best, !is_unanswered);
        let mut text = format!("fewest IP bytes: {first} {}{mark}", self.words(fewest.1));
        let answered: Vec<&Cell> = cells
            .iter()
            .copied()
            .filter(|cell| !ends_with_arrival(cell))
            .collect();
        if let Contest::Best(best) | Contest::NoDifference(best) = self.column().contest(&answered)
            && let Some(bytes) = best.first().and_then(|cell| self.column().value(cell))
            && is_unanswered
        {
            text += &format!(", {} {} (acknowledged)", alike(&best, true), self.short(bytes));
        }
        let most_names = all.iter().filter(|(_, bytes)| *bytes == most.1);
        let most_names: Vec<String> = most_names.map(|(cell, _)| names.contender(cell)).collect();
        text + &format!(", most: {} {}", listed(&most_names), self.short(most.1))
    }
}

/// Which answers are fastest, as far as the samples tell; `None` without answers to compare.
fn times(cells: &[&Cell], names: &Names) -> Option<String> {
    let answered: Vec<&Cell> = cells
        .iter()
        .copied()
        .filter(|cell| !ends_with_arrival(cell))
        .collect();
    let named = |cells: &[&Cell]| cells.iter().map(|cell| names.contender(cell)).collect::<Vec<_>>();
    let fastest = match Column::Mean.contest(&answered) {
        Contest::NoDifference(_) => return Some(format!("{NO_DIFFERENCE} in response time")),
        Contest::TooFew(unknown) if unknown.len() < answered.len() && unknown.len() <= LISTED => {
            format!(
                "fastest answer: {}, {TOO_FEW_SAMPLES}",
                named(&unknown).join(" or ")
            )
        }
        Contest::TooFew(_) => return Some(format!("{TOO_FEW_SAMPLES} which answers fastest")),
        Contest::Nothing => return None,
        // The only one is neither fastest nor slowest.
        Contest::Best(_) if answered.len() == 1 => return None,
        Contest::Best(best) => match &best[..] {
            [one] => {
                let millis = number::optional(Column::Mean.value(one), number::millis);
                format!("fastest answer: {} {millis} ms", names.contender(one))
            }
            some if some.len() <= LISTED => {
                format!(
                    "fastest answers: {}, {NO_DIFFERENCE} between them",
                    listed(&named(some))
                )
            }
            some => format!("{NO_DIFFERENCE} between the {} fastest answers", some.len()),
        },
    };
    let values = answered
        .iter()
        .filter_map(|cell| Some((*cell, Column::Mean.value(cell)?)));
    let (slow, nanos) = values.max_by(|a, b| a.1.total_cmp(&b.1))?;
    let slow = format!("slowest: {} {} ms", names.contender(slow), number::millis(nanos));
    Some(format!("{fastest}, {slow}"))
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
