use super::*;

fn standing(contender: usize, value: f64, interval: Option<[f64; 2]>) -> Standing {
    Standing {
        contender,
        estimate: Estimate { value, interval },
    }
}

fn exact(contender: usize, value: f64) -> Standing {
    standing(contender, value, Some([value; 2]))
}

/// The first stack, the words of its field, and the stacks that the words are about.
fn tied(standings: Vec<Standing>) -> (usize, &'static str, Vec<usize>) {
    let contest = Contest::from_standings(standings);
    let (first, _, answer) = contest.result().expect("somebody competes");
    let words = answer.words();
    let others = match answer {
        Answer::Differs => Vec::new(),
        Answer::Equal(others) | Answer::Alike(others) | Answer::TooFew(others) => others,
    };
    let others = others.iter().map(|standing| standing.contender);
    (first.contender, words, others.collect())
}

#[test]
fn exact_figures_are_told_apart_whenever_they_differ() {
    assert_eq!(
        tied(vec![exact(0, 200.0), exact(1, 199.0)]),
        (1, "differs", vec![])
    );
    assert_eq!(
        tied(vec![exact(0, 200.0), exact(1, 200.0), exact(2, 201.0)]),
        (0, EQUAL, vec![1])
    );
}

#[test]
fn noisy_figures_are_alike_where_no_difference_of_note_is_possible() {
    let noisy = standing(0, 200.0, Some([198.0, 202.0]));
    assert_eq!(tied(vec![noisy, exact(1, 205.0)]), (0, NO_DIFFERENCE, vec![1]));
    assert_eq!(tied(vec![noisy, exact(1, 230.0)]), (0, "differs", vec![]));
}

#[test]
fn intervals_that_could_hide_a_difference_tell_nothing() {
    let wide = standing(0, 200.0, Some([150.0, 250.0]));
    assert_eq!(tied(vec![wide, exact(1, 205.0)]), (0, TOO_FEW_SAMPLES, vec![1]));
    let unknown = standing(1, 900.0, None);
    assert_eq!(tied(vec![exact(0, 1.0), unknown]), (0, TOO_FEW_SAMPLES, vec![1]));
}

#[test]
fn margins_have_the_digits_a_reader_needs() {
    let cases = [
        (100.01, "+<0.1 %"),
        (104.2, "+4.2 %"),
        (175.0, "+75 %"),
        (2_500.0, "×25"),
    ];
    for (next, text) in cases {
        assert_eq!(margin(&exact(0, 100.0), &exact(1, next)), text);
    }
    assert_eq!(margin(&exact(0, 0.0), &exact(1, 28.0)), "+28");
}

#[test]
fn ties_name_three_and_count_the_rest() {
    let all: Vec<Standing> = (1..5).map(|contender| exact(contender, 1.0)).collect();
    let others: Vec<&Standing> = all.iter().collect();
    assert_eq!(tie_mark(&exact(0, 1.0), &others[..1], "~"), "A~B");
    assert_eq!(tie_mark(&exact(0, 1.0), &others, "~"), "A~B~C +2");
    assert_eq!([25, 26, 53].map(letter), ["Z", "A1", "B2"]);
}
