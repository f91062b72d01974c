//! What this machine measured of its own energy during a comparison, beside the model.

use serde_json::{Value, json};
use wirecost_account::Figures;
use wirecost_results::environment::MachineEnergy;
use wirecost_results::{Environment, RunFolder};
use wirecost_studies::amount::{Amount, Dimension};

use crate::arguments::CostArguments;

/// The measured energy of a results folder; `None` for a capture, and for a comparison in virtual time.
pub fn read(arguments: &CostArguments) -> Option<MachineEnergy> {
    if !arguments.source.is_dir() {
        return None;
    }
    let environment: Environment = RunFolder::open(&arguments.source).read_json("env.json").ok()?;
    environment.machine_energy
}

/// The modelled energy of a reading beside rest, if the folder has one way of sending it.
fn modelled(figures: &[Figures]) -> Option<f64> {
    match figures {
        [only] => only.active_each.map(|energy| energy.joules),
        _ => None,
    }
}

/// One or two lines behind the table.
pub fn text(energy: &MachineEnergy, figures: &[Figures]) -> String {
    let shown = |joules| Amount::new(joules, Dimension::ENERGY).to_string();
    let (Some(each), Some(by)) = (energy.above_idle_j_per_message, &energy.source) else {
        let why = energy.not_measured.as_deref().unwrap_or("no message was sent");
        return format!("\nenergy of this machine: not measured: {why}\n");
    };
    let interval = energy.above_idle_j_per_message_ci95.map_or_else(
        || " (too few samples for an interval)".to_owned(),
        |[low, high]| format!(" [{}, {}]", shown(low), shown(high)),
    );
    let measured = format!(
        "\nenergy of this machine above idle, per message: {}{interval}, measured by {by}; devices, servers and link together\n",
        shown(each)
    );
    match modelled(figures) {
        None => measured,
        Some(model) => format!(
            "{measured}modelled: {}*, residual {}: the model is of a device, the measurement of this machine\n",
            shown(model),
            shown(each - model)
        ),
    }
}

/// The same for `--json`.
pub fn json(energy: Option<&MachineEnergy>, figures: &[Figures]) -> Value {
    let Some(energy) = energy else {
        return Value::Null;
    };
    let measured = energy.above_idle_j_per_message;
    json!({
        "measured": energy,
        "modelled_j_per_message": modelled(figures),
        "residual_j_per_message": measured.zip(modelled(figures)).map(|(measured, model)| measured - model),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_measured_has_a_reason_and_no_number() {
        let energy = MachineEnergy {
            not_measured: Some("no RAPL and no battery here".into()),
            ..MachineEnergy::default()
        };
        let text = text(&energy, &[]);
        assert_eq!(
            text,
            "\nenergy of this machine: not measured: no RAPL and no battery here\n"
        );
    }

    #[test]
    fn what_is_measured_has_its_interval_and_its_source() {
        let energy = MachineEnergy {
            source: Some("RAPL".into()),
            above_idle_j_per_message: Some(0.5),
            above_idle_j_per_message_ci95: Some([0.4, 0.6]),
            ..MachineEnergy::default()
        };
        let text = text(&energy, &[]);
        assert!(
            text.contains("500 mJ [400 mJ, 600 mJ], measured by RAPL"),
            "{text}"
        );
        assert!(!text.contains("modelled"), "there is no traffic: {text}");
    }
}
