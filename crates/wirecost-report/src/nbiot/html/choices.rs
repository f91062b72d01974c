//! The curves of a run: those of the network as given, and each of them with its changes.

use wirecost_results::nbiot::Point;

/// The points of a stack with one size of report, the load ascending.
#[derive(Clone, Debug)]
pub(super) struct Curve<'a> {
    /// Its name among the curves that are drawn with it.
    pub(super) label: String,
    /// Its colour.
    pub(super) number: usize,
    pub(super) points: Vec<&'a Point>,
    /// The change of the network; `None`: the network as given.
    pub(super) change: Option<&'a str>,
}

impl Curve<'_> {
    /// The point at a load.
    pub(super) fn at(&self, load: f64) -> Option<&Point> {
        self.points.iter().copied().find(|point| point.load == load)
    }
}

/// Curves that are drawn together.
#[derive(Clone, Debug)]
pub(super) struct Choice<'a> {
    pub(super) name: String,
    pub(super) curves: Vec<Curve<'a>>,
}

impl<'a> Choice<'a> {
    /// First the curves of the network as given; then, where there are changes of it, each with its changes.
    pub(super) fn all(points: &'a [Point]) -> Vec<Self> {
        let curves = curves(points);
        let (given, changed): (Vec<_>, Vec<_>) = curves.into_iter().partition(|curve| curve.change.is_none());
        let with_changes = given.iter().filter_map(|base| {
            let own = changed.iter().filter(|curve| is_same(base, curve));
            let own: Vec<Curve<'a>> = own.cloned().collect();
            (!own.is_empty()).then(|| Self {
                name: base.label.clone(),
                curves: numbered(std::iter::once(base.clone()).chain(own), |curve| {
                    curve.change.unwrap_or("network as given").to_owned()
                }),
            })
        });
        let with_changes: Vec<Self> = with_changes.collect();
        let name = match with_changes.is_empty() {
            true => "stacks",
            false => "network as given",
        };
        // A run may hold changed networks alone.
        let first = if given.is_empty() { changed } else { given };
        let all = Self {
            name: name.to_owned(),
            curves: numbered(first, |curve| curve.label.clone()),
        };
        std::iter::once(all).chain(with_changes).collect()
    }

    /// The loads of its curves, ascending.
    pub(super) fn loads(&self) -> Vec<f64> {
        let points = self.curves.iter().flat_map(|curve| &curve.points);
        let mut loads: Vec<f64> = points.map(|point| point.load).collect();
        loads.sort_by(f64::total_cmp);
        loads.dedup();
        loads
    }
}

/// A load in reports per second and cell.
pub(super) fn load_words(load: f64) -> String {
    format!("{load}/s")
}

/// The stack of a point, and the change of the network that its name has in parentheses.
pub(super) fn stack_and_change(point: &Point) -> (&str, Option<&str>) {
    match point.stack.split_once(" (") {
        Some((stack, change)) => (stack, change.strip_suffix(')')),
        None => (&point.stack, None),
    }
}

fn curves(points: &[Point]) -> Vec<Curve<'_>> {
    let mut curves: Vec<Curve<'_>> = Vec::new();
    for point in points {
        let is_own = |curve: &&mut Curve<'_>| {
            let first = curve.points[0];
            (&first.stack, first.size_bytes) == (&point.stack, point.size_bytes)
        };
        match curves.iter_mut().find(is_own) {
            Some(curve) => curve.points.push(point),
            None => curves.push(Curve {
                label: format!("{} {} B", point.stack, point.size_bytes),
                number: 0,
                points: vec![point],
                change: stack_and_change(point).1,
            }),
        }
    }
    for curve in &mut curves {
        // Runs end in any order, and a line through points out of order goes back and forth.
        curve.points.sort_by(|a, b| a.load.total_cmp(&b.load));
    }
    curves
}

/// Whether a curve is `base` in a changed network.
fn is_same(base: &Curve<'_>, curve: &Curve<'_>) -> bool {
    let of = |curve: &Curve<'_>| {
        let point = curve.points[0];
        (stack_and_change(point).0.to_owned(), point.size_bytes)
    };
    of(base) == of(curve)
}

fn numbered<'a>(
    curves: impl IntoIterator<Item = Curve<'a>>,
    label: impl Fn(&Curve<'a>) -> String,
) -> Vec<Curve<'a>> {
    let number = |(number, curve): (usize, Curve<'a>)| Curve {
        label: label(&curve),
        number,
        ..curve
    };
    curves.into_iter().enumerate().map(number).collect()
}
