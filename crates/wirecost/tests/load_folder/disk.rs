//! A disk that is full when a load has its figures.

use std::process::Command;

use crate::common::{WIRECOST, need_root, open_folder, said};
use crate::{publish, summary};

#[test]
#[ignore = "needs root"]
fn a_full_disk_loses_nothing_that_was_measured() {
    need_root();
    let home = open_folder();
    let text = "wirecost: 1\nname: two loads\nstack: [mqtt-qos1, coap-con]\nclients: 2\n\
                phases: [{do: publish, rate: 50/s, duration: 3s}]\n";
    std::fs::write(home.path().join("a.yaml"), text).expect("a file");
    std::fs::create_dir(home.path().join("disk")).expect("a folder");
    // The disk is filled while the second load is at work: what it has measured finds no room. The mount goes with its
    // namespace, so that the results are copied out first.
    let script = "mount -t tmpfs -o size=4m none disk || exit 1\n\
                  \"$0\" run a.yaml -o disk/run --quiet & run=$!\n\
                  until grep -q '\"acknowledged\": 150' disk/run/summary.json 2>/dev/null; do\n\
                  kill -0 $run || break; sleep 0.1; done\n\
                  dd if=/dev/zero of=disk/filling bs=4k 2>/dev/null\n\
                  wait $run; code=$?; rm disk/filling; cp -r disk/run copy; exit $code";
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", script, WIRECOST]);
    let ended = said(command.current_dir(home.path()));
    assert_eq!(ended.code, Some(13), "{}", ended.stderr);
    let error = ended.line("error: ").expect("a sentence");
    assert!(
        error.contains("disk/run/") && error.contains("No space left"),
        "{error}"
    );
    let hint = ended.line("hint: ");
    assert_eq!(
        hint,
        Some("what was measured before is in disk/run; make room on its disk")
    );
    assert!(
        ended.stdout.contains("mqtt-qos1") && ended.stdout.contains("coap-con"),
        "the figures of both are printed\n{}",
        ended.stdout
    );
    let kept = summary(&home.path().join("copy"));
    assert!(kept.interrupted);
    assert_eq!((kept.loads.len(), publish(&kept).outcomes.acknowledged), (1, 150));

    let mut command = crate::wirecost(home.path());
    let resumed = said(command.args(["run", "a.yaml", "--resume", "copy", "--quiet"]));
    assert!(crate::is_whole(&resumed), "{:?} {}", resumed.code, resumed.stderr);
    assert_eq!(summary(&home.path().join("copy")).loads.len(), 2);
}
