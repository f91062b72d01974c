//! How sure a life is, and whether the battery can feed the device, as sentences of an answer.

use wirecost_account::Terms;
use wirecost_energy::Device;
use wirecost_energy::evidence::Beside;
use wirecost_proto::shown::number;
use wirecost_proto::units::counted;

/// The answer: whether the battery can feed the device, what is best, and how sure it is.
pub fn with_best(terms: &Terms<'_>, best: Option<String>) -> Option<String> {
    let answers = too_weak(terms).into_iter().chain(best).chain(sure(terms));
    let answers: Vec<String> = answers.collect();
    (!answers.is_empty()).then(|| answers.join(" "))
}

/// How sure the lives are, where there are any.
pub fn sure(terms: &Terms<'_>) -> Option<String> {
    let (_, device) = terms.battery.zip(terms.device)?;
    Some(how_sure(device, terms.beside))
}

/// How sure a life of a device is, in a sentence.
pub fn how_sure(device: &Device, beside: Option<Beside>) -> String {
    let Some(beside) = beside else {
        return format!(
            "The energy of {} was never held against a measured event: its range is that of assumed and sheet figures.",
            device.name
        );
    };
    let unknown = match beside.is_power_unknown {
        true => {
            "; none of them says TX power or coverage: a trace of your device beside its capture (cost --meter) narrows it"
        }
        false => "",
    };
    format!(
        "By {} measured of {}, 80 % of such events are within a factor of {} of the model, either way{unknown}.",
        counted(beside.events as u64, "event"),
        device.chip.as_deref().unwrap_or(&device.name),
        number(beside.factor)
    )
}

/// That the battery cannot feed the device, as a sentence of the answer.
pub fn too_weak(terms: &Terms<'_>) -> Option<String> {
    let weak = terms.too_weak()?.to_string();
    Some(format!("{}{}.", weak[..1].to_uppercase(), &weak[1..]))
}
