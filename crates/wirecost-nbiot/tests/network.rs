//! The network as a whole.

#[allow(dead_code, reason = "the bench uses more of it")]
mod traffic;

use std::time::Duration;

use traffic::Traffic;
use wirecost_nbiot::{Config, Network};

/// LENA-NB's example: one cell of 1,250 m radius, outdoors.
fn single_cell() -> Config {
    let mut config = Config::profile("vodafone").unwrap();
    config.scenario.n_sites = 1;
    config.scenario.sectors_per_site = 1;
    // A hexagon with corners at 1,250 m.
    config.scenario.isd_m = 1_250.0 * 3.0_f64.sqrt();
    config.radio.indoor_loss_db = 0.0;
    config
}

const LENA_REPORT: traffic::Exchange = &[(wirecost_proto::Direction::Up, 77)];

#[test]
fn latency_of_one_unloaded_cell_is_that_of_lena_nb() {
    for (period, start) in [(320, 256), (160, 128)] {
        let mut config = single_cell();
        config.levels.ce0.nprach_period_ms = period;
        config.levels.ce0.nprach_start_ms = start;
        let mut network = Network::new(&config, 3).unwrap();
        let traffic = Traffic {
            exchange: LENA_REPORT,
            rate: 1.0,
            arrivals: Duration::from_secs(500),
            seed: 3,
        };
        let result = traffic::run(&mut network, &traffic);
        let mut delays = result.delays_ms.clone();
        delays.sort_by(f64::total_cmp);
        let mean = delays.iter().sum::<f64>() / delays.len() as f64;
        println!(
            "{period}: {} {} mean {mean} median {} min {} max {}",
            result.devices,
            result.served,
            delays[delays.len() / 2],
            delays[0],
            delays[delays.len() - 1]
        );
        assert_eq!(result.offered, result.delivered + result.lost + result.held);
    }
}
