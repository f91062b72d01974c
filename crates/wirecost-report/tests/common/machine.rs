//! The machine of the fixtures.

use wirecost_results::Environment;
use wirecost_results::environment::Emulator;

pub(crate) fn environment() -> Environment {
    let network = |names: &[(&str, &str)]| {
        names
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect()
    };
    let settings = [
        ("tcp_congestion_control", "cubic"),
        ("tcp_no_metrics_save", "1"),
        ("tcp_rmem", "4096 131072 6291456"),
        ("tcp_timestamps", "1"),
        ("tcp_sack", "1"),
    ];
    Environment {
        started_at: "2026-11-20T11:40:02Z".into(),
        duration_s: 41.8,
        wirecost_version: "0.1.0".into(),
        kernel: "6.18.2".into(),
        cpu_model: "AMD EPYC 7B13".into(),
        cpus: 2,
        cpu_governor: None,
        memory_bytes: 8_330_000_000,
        open_files_limit: Some(20_000),
        local_ports: Some([32_768, 60_999]),
        source_addresses: Vec::new(),
        clock_source: Some("tsc".into()),
        clock_resolution_ns: 1,
        clock_read_ns: 24,
        cpu_clock_read_ns: 210,
        load_average: [0.31, 0.62],
        steal: Some(0.0012),
        packet_path: "tun".into(),
        device_network: network(&settings),
        server_network: network(&settings),
        emulator: Some(Emulator {
            packets: 18_400,
            lateness_p50_ns: 31_000,
            lateness_p99_ns: 118_000,
            lateness_max_ns: 402_000,
            cpu_ns: 612_000_000,
            head_start_ns: 14_000,
            priority: "SCHED_FIFO".into(),
            idle_cpus: "awake".into(),
        }),
        servers: network(&[]),
        server_resident_bytes: None,
        machine_energy: None,
        unattributed_packets: 0,
        dropped_packets: 0,
    }
}
