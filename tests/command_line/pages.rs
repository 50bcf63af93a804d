//! Pages in a real browser, where one is installed: nothing on the console, every picture drawn.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::Folder;

const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// Counts the pictures that are shown, and those of them without size or content.
const LOOK: &str = "<script>
const shown = [...document.querySelectorAll('svg')].filter(svg => svg.getClientRects().length > 0);
const blank = shown.filter(svg => {
  const box = svg.getBoundingClientRect();
  return box.width < 50 || box.height < 50 || svg.querySelectorAll('path, line, rect, polyline').length === 0;
});
document.body.setAttribute('data-look', `${shown.length} shown, ${blank.length} blank`);
</script></body>";

fn browser() -> Option<&'static str> {
    BROWSERS.into_iter().find(|name| Command::new(name).arg("--version").output().is_ok())
}

/// Opens the page and returns how many pictures it shows.
fn look_at(browser: &str, page: &Path) -> usize {
    let text = fs::read_to_string(page).unwrap();
    let copy = page.with_extension("look.html");
    fs::write(&copy, text.replacen("</body>", LOOK, 1)).unwrap();
    let profile = tempfile::tempdir().unwrap();
    let output = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--enable-logging=stderr",
            "--window-size=1200,900",
        ])
        .args(["--virtual-time-budget=3000", "--timeout=60000", "--dump-dom"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("file://{}", copy.canonicalize().unwrap().display()))
        .output()
        .unwrap();
    let (dom, log) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let complaints: Vec<&str> = log.lines().filter(|line| line.contains(":CONSOLE")).collect();
    assert!(complaints.is_empty(), "{}: {complaints:?}", page.display());
    let found = dom.split("data-look=\"").nth(1).and_then(|rest| rest.split('"').next());
    let found = found.unwrap_or_else(|| panic!("{}: not opened: {log}", page.display()));
    let (shown, blank) = found.split_once(" shown, ").unwrap();
    assert_eq!(blank, "0 blank", "{}", page.display());
    shown.parse().unwrap()
}

#[test]
fn pages_of_studies_and_of_tuning_draw_all_their_pictures() {
    let Some(browser) = browser() else {
        println!("not looked at: no browser is installed (Debian: chromium)");
        return;
    };
    let folder = Folder::new();
    let tiny = "--budget 60 --tasks 2 --experiments 2 --set candidates=16 --quiet";
    folder.succeed(&format!("run branin --method random,mft-mes --out own {tiny}"));
    folder.succeed("report own --out own.html");
    assert_eq!(look_at(browser, &folder.path("own.html")), 2);
    folder.succeed(&format!("run hartmann6 --method mf-mes,mft-mes --name fig3 --out paper {tiny}"));
    folder.succeed("foretune-paper report paper own --out both.html");
    assert_eq!(look_at(browser, &folder.path("both.html")), 3);
    folder.write("p.toml", super::tune::PROBLEM);
    folder.succeed("tune p.toml --command 'echo {x}' --report tuned.html --set candidates=16");
    assert_eq!(look_at(browser, &folder.path("tuned.html")), 5);
}

#[test]
fn the_demo_tells_its_story_as_the_readme_has_it_and_draws_a_picture() {
    let folder = Folder::new();
    let text = folder.succeed("demo --out d.svg");
    for words in
        ["Two base stations", "never tuned", "tuned by hand", "below the floor", "forty other towns", "next"]
    {
        assert!(text.contains(words), "{words}: {text}");
    }
    let result = text.lines().find(|line| line.starts_with("Against the setting it came with")).expect(&text);
    assert!(include_str!("../../README.md").contains(result), "{result}");
    let picture = folder.read("d.svg");
    assert!(picture.starts_with("<svg"));
    for curve in
        ["town 1 of 8", "best possible", "keeps to", "never tuned", "tuned by hand", "weakest two", "hour"]
    {
        assert!(picture.contains(curve), "{curve}");
    }
    assert_eq!(folder.files("").len(), 1, "nothing but the picture is left");
}
