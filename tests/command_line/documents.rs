//! Every command that a page shows is one that the program takes.

use std::fs;
use std::path::{Path, PathBuf};

use foretune::cli::program::check;

/// What stands before a program's arguments on the pages.
const PREFIXES: [(&str, &str); 5] = [
    ("foretune ", "foretune"),
    ("cargo run --release -- ", "foretune"),
    ("cargo run -- ", "foretune"),
    ("foretune-paper ", "foretune-paper"),
    ("cargo run --release -p foretune-paper -- ", "foretune-paper"),
];

/// The problem that a guide adds stands for one that is there.
fn own(word: &str) -> &str {
    if word == "pump" { "gas" } else { word }
}

/// The words of a command line, where quotes keep some together.
fn words(line: &str) -> Vec<&str> {
    let mut all = Vec::new();
    for (i, part) in line.split('\'').enumerate() {
        match i % 2 == 1 {
            true => all.push(part),
            false => all.extend(part.split_whitespace()),
        }
    }
    all
}

fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && !name.starts_with('.') && !path.join("CACHEDIR.TAG").exists() {
            pages(&path, found);
        } else if name.ends_with(".md") {
            found.push(path);
        }
    }
}

/// Lines of shell, and what stands between backquotes.
fn commands(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut shell = false;
    for line in text.replace("\\\n", " ").lines() {
        match line.strip_prefix("```") {
            Some(language) => shell = !shell && language == "sh",
            None if shell => found.push(line.split(" #").next().unwrap_or_default().trim().to_string()),
            None => {}
        }
    }
    let prose: Vec<&str> = text.split("```").step_by(2).collect();
    found.extend(prose.concat().replace('\n', " ").split('`').skip(1).step_by(2).map(str::to_string));
    found
}

#[test]
fn every_command_on_a_page_is_one_that_the_program_takes() {
    let mut files = Vec::new();
    pages(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."), &mut files);
    let (mut checked, mut refused) = (0, Vec::new());
    for file in files {
        for command in commands(&fs::read_to_string(&file).unwrap()) {
            let named = |(prefix, program)| Some((command.strip_prefix(prefix)?, program));
            let Some((rest, program)) = PREFIXES.into_iter().find_map(named) else { continue };
            // `foretune run PROBLEM …` shows a form, not a command.
            let is_form = |word: &str| {
                word.contains(['…', '<', '['])
                    || word.contains("...")
                    || word.chars().all(|c| c.is_ascii_uppercase())
            };
            let words: Vec<&str> = words(rest).into_iter().map(own).collect();
            if words.iter().any(|word| is_form(word)) {
                continue;
            }
            // With `--help`, so that a bare `foretune report` passes: what is there is checked, not what is left out.
            let asked = [program].into_iter().chain(words).chain(["--help"]);
            let taken = match program {
                "foretune" => check::<foretune::cli::Arguments>(asked),
                _ => check::<foretune_paper::cli::Arguments>(asked),
            };
            if let Err(error) = taken {
                refused.push(format!("{}: {command}: {error}", file.display()));
            }
            checked += 1;
        }
    }
    assert!(refused.is_empty() && checked > 20, "{checked} checked\n{}", refused.join("\n"));
}

fn page(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name)).unwrap()
}

fn prose(text: &str) -> String {
    let mut parts = text.split("<!-- table: ");
    let first = parts.next().unwrap_or_default().to_string();
    parts.fold(first, |all, part| all + part.split_once("<!-- end -->").map_or("", |(_, rest)| rest))
}

#[test]
fn front_pages_stay_short() {
    for (name, limit, text) in [
        ("README.md", 900, page("README.md")),
        ("results/README.md", 1500, prose(&page("results/README.md"))),
    ] {
        let words = text.split_whitespace().count();
        assert!(words <= limit, "{name} has {words} words, of {limit}");
    }
}

/// What a link to a heading calls it.
fn anchor(heading: &str) -> String {
    let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    heading
        .trim_start_matches('#')
        .trim()
        .to_lowercase()
        .chars()
        .filter(kept)
        .collect::<String>()
        .replace(' ', "-")
}

#[test]
fn every_link_leads_somewhere() {
    let mut files = Vec::new();
    pages(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."), &mut files);
    let mut broken = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let prose = text.split("```").step_by(2).collect::<Vec<_>>().concat();
        for link in prose.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let (path, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = if path.is_empty() { file.clone() } else { file.with_file_name(path) };
            let found = || {
                fs::read_to_string(&target).is_ok_and(|page| {
                    page.lines().any(|line| line.starts_with('#') && anchor(line) == heading)
                })
            };
            if !link.contains("://") && !(target.exists() && (heading.is_empty() || found())) {
                broken.push(format!("{}: {link}", file.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}
