//! What a user would do instead of tuning, in the same studies.

use super::Folder;

const STUDY: &str = "run hartmann6 --method never,kept,hill-climbing,random-cheapest,mf-mes-ten,warm-start \
    --set candidates=16 --experiments 1 --tasks 3 --budget 120 --quiet --out o";

/// The cells of a column in all rows of a unit that pass, task by task.
fn column(folder: &Folder, unit: &str, column: usize, passes: fn(&str) -> bool) -> Vec<Vec<String>> {
    let text = folder.read(&format!("o/units/{unit}-1.csv"));
    let rows: Vec<Vec<String>> = text
        .lines()
        .filter(|line| line.starts_with(unit) && passes(line))
        .map(|line| line.split(',').map(String::from).collect())
        .collect();
    let of_task = |task: usize| rows.iter().filter(move |row| row[2] == task.to_string());
    (1..=3).map(|task| of_task(task).map(|row| row[column].clone()).collect()).collect()
}

fn is_query(line: &str) -> bool {
    !line.contains(",recommend,")
}

#[test]
fn each_does_what_its_name_says() {
    let folder = &Folder::new();
    folder.succeed(STUDY);
    let [kind, fidelity, x] = [4, 5, 7];
    let queried = |unit| column(folder, unit, x, is_query);
    let recommended = |unit| column(folder, unit, x, |line| !is_query(line));

    // Never tuned: the same point in all tasks, measured once.
    let never = [queried("never").concat(), recommended("never").concat()].concat();
    assert_eq!(never, vec![never[0].clone(); 6]);

    // Kept: many queries in the first task, then its recommendation for ever.
    let kept = recommended("kept");
    assert!(queried("kept")[0].len() > 10);
    assert_eq!(queried("kept")[1..], [kept[0].clone(), kept[0].clone()]);
    assert_eq!(kept[1..], [kept[0].clone(), kept[0].clone()]);

    // Hill climbing: from the point in use, later from the last recommendation; twelve trials at the cheapest fidelity.
    let climbed = queried("hill-climbing");
    assert!(climbed.iter().all(|task| task.len() == 12));
    assert_eq!(climbed[0][0], never[0]);
    let tops = recommended("hill-climbing");
    assert_eq!([&climbed[1][0], &climbed[2][0]], [&tops[0][0], &tops[1][0]]);
    assert!(column(folder, "hill-climbing", fidelity, is_query).concat().iter().all(|m| m == "1"));

    // Random search at the cheapest fidelity: all but the initial points there.
    let searched = column(folder, "random-cheapest", fidelity, |line| line.contains(",search,"));
    assert!(searched.iter().all(|task| task.len() == 12 && task.iter().all(|m| m == "1")));

    // Carried points are tried again by the warm start alone.
    let carries = |unit| column(folder, unit, kind, is_query).concat().contains(&"carried".to_string());
    assert!(carries("warm-start") && !carries("mf-mes-ten"));
}

#[test]
fn they_resume_to_the_same_bytes() {
    super::studies::cut_and_resumed(STUDY, |length, _, _| length / 2);
}

#[test]
fn another_program_can_tune_what_a_study_tunes() {
    let folder = &Folder::new();
    folder.succeed("run one:hartmann3 --method random --experiments 1 --tasks 1 --budget 10 --quiet --out o");
    let text = folder.read("o/units/random-1.csv");
    let row: Vec<&str> = text.lines().find(|line| line.contains(",search,")).unwrap().split(',').collect();
    let said = folder.fed("foretune-paper evaluate one:hartmann3", &format!("1 1 {}\n", row[7]));
    let (facts, answer) = said.split_once('\n').unwrap();
    assert!(facts.contains("\"budget\":30.0") && facts.contains("\"low\":0.0"), "{facts}");
    let numbers: Vec<f64> = answer.split_whitespace().map(|word| word.parse().unwrap()).collect();
    let expected = [row[9], row[10]].map(|word| word.parse::<f64>().unwrap());
    assert!(numbers.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-5), "{answer}: {expected:?}");
    assert_eq!(numbers.len(), 2);
    // Every measurement is charged, the first ones included.
    assert_eq!(text.lines().filter(|line| line.starts_with("random") && is_query(line)).count(), 10);
}
