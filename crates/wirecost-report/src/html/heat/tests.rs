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

fn tied(standings: Vec<Standing>) -> (usize, Vec<usize>) {
    let contest = Contest::of(standings);
    let (first, _, tied) = contest.result().expect("somebody competes");
    (
        first.contender,
        tied.iter().map(|standing| standing.contender).collect(),
    )
}

#[test]
fn exact_figures_are_separable_whenever_they_differ() {
    assert_eq!(tied(vec![exact(0, 200.0), exact(1, 199.0)]), (1, vec![]));
    assert_eq!(
        tied(vec![exact(0, 200.0), exact(1, 200.0), exact(2, 201.0)]),
        (0, vec![1])
    );
}

#[test]
fn noisy_figures_are_separable_where_their_intervals_are_apart() {
    let noisy = standing(0, 200.0, Some([190.0, 210.0]));
    assert_eq!(tied(vec![noisy, exact(1, 205.0)]), (0, vec![1]));
    assert_eq!(tied(vec![noisy, exact(1, 211.0)]), (0, vec![]));
}

#[test]
fn without_an_interval_nothing_is_separable() {
    assert_eq!(tied(vec![exact(0, 1.0), standing(1, 900.0, None)]), (0, vec![1]));
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
