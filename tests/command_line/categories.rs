//! Parameters without an order: people see and give names, wherever a setting is.

use super::Folder;

const PROBLEM: &str = "\
goal = \"minimise\"
budget = 30.0
[[parameter]]
name = \"mode\"
values = [\"slow\", \"fast\", \"very fast\", \"off\"]
[[parameter]]
name = \"x\"
low = 0.0
high = 1.0
[[fidelity]]
name = \"run\"
cost = 1.0
noise = 0.0001
[deployed]
mode = \"off\"
x = 0.5
";

/// The third is best; the environment says the same as the argument.
const SCRIPT: &str = "[ \"$1\" = \"$FORETUNE_MODE\" ] || exit 1; case $1 in 'very fast') w=0;; slow) w=1;; *) w=2;; esac; \
    awk -v w=$w -v x=$2 'BEGIN { printf \"%.17g\", w + (x - 0.25) * (x - 0.25) }'\n";
const TUNE: &str = "tune p.toml --state s --command 'sh measure.sh {mode} {x}'";

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("p.toml", PROBLEM);
    folder.write("measure.sh", SCRIPT);
    folder
}

#[test]
fn names_go_to_the_command_into_the_state_and_back() {
    let folder = folder();
    let said = folder.succeed(&format!("{TUNE} --seed 3 --csv past.csv"));
    assert!(said.contains("Recommended: mode = very fast, x = 0.2"), "{said}");
    assert!(said.contains("In use: mode = off, x = 0.5, measured 2.06"), "{said}");
    let shown = folder.succeed("show s --report page.html");
    for name in ["slow", "fast", "very fast", "off"] {
        assert!(shown.contains(name), "{name} is in none of the measurements: {shown}");
    }
    let said = folder.fail("fleet learn s --problem p.toml --out f.fleet", 2);
    assert!(said.contains("the values of `mode` have none"), "{said}");
    assert!(folder.succeed("explain s").contains("mode = off, x = 0.5"));
    let page = folder.read("page.html");
    assert!(page.contains("mode = very fast, x = 0.2"));
    assert!(page.matches(">very fast</text>").count() >= 2, "at the ticks of a slice and of the map");
    let table = folder.read("past.csv");
    assert!(table.starts_with("task,why,mode,x,") && table.contains(",off,0.5,run,1,"), "{table}");
    let again = "tune p.toml --state t --seed 4 --command 'sh measure.sh {mode} {x}' --past past.csv";
    folder.succeed(&format!("{again} --deployed 'mode=slow,x=0.5'"));
    assert!(folder.succeed("show t").contains("In use: mode = slow"));
}

#[test]
fn names_that_there_are_not_are_refused_with_those_that_there_are() {
    let folder = folder();
    let known = "parameter `mode` has no value `1`: there are slow, fast, very fast, off";
    assert!(folder.fail(&format!("{TUNE} --deployed mode=1,x=0"), 2).contains(known));
    folder.write("past.csv", "mode,x,value\n1,0.5,3\n");
    let said = folder.fail(&format!("{TUNE} --past past.csv"), 2);
    assert!(said.contains("line 2: column `mode`: ") && said.contains(known), "{said}");
    folder.write("p.toml", &format!("{PROBLEM}[[limit]]\nsum = {{ mode = 1.0 }}\nat_most = 2\n"));
    assert!(folder.fail(TUNE, 2).contains("the values of parameter `mode` are names"));
    folder.write("p.toml", PROBLEM);
    let said = folder.fail(&format!("{TUNE} --set map=deep:8"), 1);
    assert!(said.contains("map") && said.contains("category"), "{said}");
}

#[test]
fn other_names_are_another_problem() {
    let folder = folder();
    folder.succeed(&format!("{TUNE} --seed 3"));
    folder.write("p.toml", &PROBLEM.replace("\"slow\", \"fast\"", "\"fast\", \"slow\""));
    let said = folder.fail(TUNE, 2);
    assert!(
        said.contains("parameter `mode` was one of slow, fast, very fast, off, and is one of fast, slow"),
        "{said}"
    );
}

#[test]
fn serve_takes_and_gives_names() {
    let folder = folder();
    let tell = |id: u32| format!("{{\"tell\":{{\"id\":{id},\"value\":1}}}}\n");
    let past = "{\"past\":[{\"setting\":{\"mode\":\"fast\",\"x\":0.1},\"value\":2.0}]}\n";
    let wrong = past.replace("fast", "none");
    let next = "{\"stop\":{}}\n{\"next_task\":{\"deployed\":{\"mode\":\"slow\",\"x\":0.25}}}\n";
    let heard = folder.fed("serve p.toml --state s", &[past, &wrong, &tell(1), next].concat());
    assert!(heard.contains("\"setting\":{\"mode\":\"off\",\"x\":0.5}"), "{heard}");
    assert!(heard.contains("no value `none`: there are slow, fast, very fast, off"), "{heard}");
    assert!(heard.contains("\"setting\":{\"mode\":\"slow\",\"x\":0.25}"), "{heard}");
}
