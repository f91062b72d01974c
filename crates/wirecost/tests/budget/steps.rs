//! The shell steps of `ci/action.yml` and `ci/gitlab.yml`, taken from the files and run in a clean environment: no variable but those
//! of the job, an empty home, and the program in the path.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::common::{Said, WIRECOST, open_folder, said};
use super::of_one;

/// The limit of the sample: nothing more than on the base.
const LIMIT: &str = "bytes_per_msg: <= 0% above";

/// A repository with a base, and a change on top of it.
struct Repository {
    home: tempfile::TempDir,
    base: String,
}

impl Repository {
    /// With a budget on the base, and another one in the change.
    fn new(base: &str, change: &str) -> Self {
        let home = open_folder();
        for folder in ["home", "bin", "repository"] {
            fs::create_dir(home.path().join(folder)).expect(folder);
        }
        std::os::unix::fs::symlink(WIRECOST, home.path().join("bin/wirecost")).expect("a link");
        let repository = Self {
            home,
            base: String::new(),
        };
        repository.git("init --quiet --initial-branch main");
        repository.commit(base);
        let base = repository.git("rev-parse HEAD").stdout.trim().to_owned();
        repository.commit(change);
        Self { base, ..repository }
    }

    fn path(&self) -> PathBuf {
        self.home.path().join("repository")
    }

    /// A program of this name that writes its arguments to a file.
    fn stand_in(&self, name: &str) -> PathBuf {
        let program = self.home.path().join("bin").join(name);
        let told = self.home.path().join(format!("{name}.told"));
        fs::write(
            &program,
            format!("#!/bin/sh\nprintf '%s\\n' \"$@\" >'{}'\n", told.display()),
        )
        .expect("written");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("a program");
        told
    }

    fn commit(&self, budget: &str) {
        fs::write(self.path().join("budget.yaml"), budget).expect("written");
        self.git("add --all");
        self.git("-c user.name=a -c user.email=a@b commit --quiet -m change");
    }

    fn git(&self, arguments: &str) -> Said {
        let ran = said(self.clean("git", &[]).args(arguments.split(' ')));
        assert_eq!(ran.code, Some(0), "git {arguments}: {}", ran.stderr);
        ran
    }

    /// A command in a clean environment.
    fn clean(&self, program: &str, variables: &[(&str, &str)]) -> Command {
        let bin = self.home.path().join("bin");
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("HOME", self.home.path().join("home"))
            .env("PATH", format!("{}:/usr/bin:/bin", bin.display()))
            .envs(variables.iter().copied())
            .current_dir(self.path());
        command
    }

    /// Runs a step as a runner does.
    fn step(&self, script: &str, variables: &[(&str, &str)]) -> Said {
        let file = self.home.path().join("step.sh");
        fs::write(&file, script).expect("written");
        said(
            self.clean("bash", variables)
                .args(["--noprofile", "--norc", "-e", "-o", "pipefail"])
                .arg(&file),
        )
    }
}

fn file(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ci").join(name);
    let text = fs::read_to_string(&path).expect(name);
    serde_saphyr::from_str(&text).expect("YAML")
}

/// The scripts of the action with their names.
fn action() -> Vec<(String, String)> {
    let action = file("action.yml");
    let steps = action["runs"]["steps"].as_array().expect("steps").clone();
    let text = |step: &Value, key: &str| step[key].as_str().expect(key).to_owned();
    let all = steps.iter().map(|step| {
        assert_eq!(step["shell"], "bash");
        let script = text(step, "run");
        assert!(!script.contains("${{"), "an input is text of a script: {script}");
        (text(step, "name"), script)
    });
    all.collect()
}

/// Runs the steps of the action up to the first that fails; its exit code, and all that was said.
fn act(repository: &Repository, base: &str) -> (Option<i32>, String) {
    let out = "wirecost-budget";
    let variables = [
        ("BUDGET", "budget.yaml"),
        ("BASE", base),
        ("CAPTURE", ""),
        ("OUT", out),
        ("PULL", "7"),
        ("GH_TOKEN", "none"),
    ];
    let mut all = String::new();
    for (name, script) in action() {
        let ran = repository.step(&script, &variables);
        all += &format!("{name}: {:?}\n{}{}", ran.code, ran.stdout, ran.stderr);
        if ran.code != Some(0) {
            return (ran.code, all);
        }
    }
    (Some(0), all)
}

#[test]
#[ignore = "needs git"]
fn the_steps_of_the_action_pass_comment_and_fail() {
    let budget = of_one("", LIMIT);
    let same = Repository::new(&budget, &(budget.clone() + "# the same\n"));
    let told = same.stand_in("gh");
    let (code, said) = act(&same, &same.base);
    assert_eq!(code, Some(0), "{said}");
    let asked = fs::read_to_string(&told).expect("gh was called");
    assert!(asked.starts_with("pr\ncomment\n7\n"), "{asked}");
    let comment = fs::read_to_string(same.path().join("wirecost-budget/comment.md")).expect("a comment");
    assert!(comment.contains("### The budget holds"), "{comment}");

    let longer = Repository::new(&budget, &of_one(", resource: tests", LIMIT));
    longer.stand_in("gh");
    let (code, said) = act(&longer, &longer.base);
    assert_eq!(code, Some(99), "{said}");
    assert!(said.contains("setting resource: test to tests"), "{said}");
    for file in ["comment.md", "junit.xml", "badge.svg"] {
        assert!(
            longer.path().join("wirecost-budget").join(file).is_file(),
            "{file}"
        );
    }
}

#[test]
#[ignore = "needs git"]
fn a_base_without_a_budget_is_none_to_compare_with_and_a_wrong_budget_fails() {
    let new = Repository::new("# none yet\n", &of_one("", "bytes_per_msg: <= 1 kB"));
    new.stand_in("gh");
    let (code, said) = act(&new, "");
    assert_eq!(code, Some(0), "{said}");
    let wrong = Repository::new("# none yet\n", &of_one("", "bytes: = 1 B"));
    wrong.stand_in("gh");
    let (code, said) = act(&wrong, "");
    assert!(code != Some(0) && said.contains("budget.yaml:7: "), "{said}");
}

#[test]
#[ignore = "needs git"]
fn the_script_of_the_template_passes_comments_and_fails() {
    let template = file("gitlab.yml");
    let lines = template["wirecost-budget"]["script"]
        .as_array()
        .expect("a script")
        .clone();
    let script: Vec<&str> = lines.iter().map(|line| line.as_str().expect("a text")).collect();
    let script = script.join("\n");
    let budget = of_one("", LIMIT);
    for (change, expected) in [
        (budget.clone() + "# the same\n", 0),
        (of_one(", resource: tests", LIMIT), 99),
    ] {
        let repository = Repository::new(&budget, &change);
        let told = repository.stand_in("curl");
        let variables = [
            ("BUDGET", "budget.yaml"),
            ("CAPTURE", ""),
            ("OUT", "wirecost-budget"),
            ("CI_MERGE_REQUEST_DIFF_BASE_SHA", &repository.base),
            ("WIRECOST_TOKEN", "token"),
            ("CI_API_V4_URL", "https://host.example/api/v4"),
            ("CI_PROJECT_ID", "3"),
            ("CI_MERGE_REQUEST_IID", "7"),
        ];
        let ran = repository.step(&script, &variables);
        assert_eq!(ran.code, Some(expected), "{}{}", ran.stdout, ran.stderr);
        let asked = fs::read_to_string(&told).expect("curl was called");
        assert!(asked.contains("/projects/3/merge_requests/7/notes"), "{asked}");
        assert!(repository.path().join("wirecost-budget/junit.xml").is_file());
    }
}
