//! The whole way from text to text, against the golden values of the core's `f64` reference.

use foretune_core::internals::gp::NOISE_FLOOR;
use serde_json::{Value, json};

use super::*;

/// Of mean, variance, covariance; of the likelihood, relative; of a gradient, relative to its largest entry: the core's own tolerances.
const POSTERIOR: f64 = 1e-4;
const LIKELIHOOD: f64 = 1e-4;
const GRADIENT: f64 = 1e-3;

fn golden(name: &str) -> Value {
    let path = format!("{}/../tests/golden/{name}", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(list) => list.iter().flat_map(numbers).collect(),
        Value::Object(object) => object.values().flat_map(numbers).collect(),
        _ => vec![value.as_f64().expect("a number")],
    }
}

fn list(value: &Value) -> &[Value] {
    let list = value.as_array().expect("a list");
    assert!(!list.is_empty(), "a loop over nothing tests nothing");
    list
}

#[track_caller]
fn assert_near(got: &[f64], want: &[f64], allowed: f64, what: &str) {
    assert_eq!(got.len(), want.len(), "{what}");
    for (got, want) in got.iter().zip(want) {
        assert!((got - want).abs() <= allowed, "{what}: {got} instead of {want}, {allowed:.1e} allowed");
    }
}

/// Through text on both sides.
fn answer(input: &Value) -> Value {
    let mut out = Vec::new();
    inspect(&input.to_string()).expect("a good file").write(&mut out).unwrap();
    serde_json::from_slice(&out).expect("JSON")
}

/// The file for a golden case without its parameters.
fn file(golden: &Value, case: &Value, kernel: &str) -> Value {
    let data = &golden["data"][case["data"].as_str().unwrap()];
    let t = case["t"].as_u64().unwrap() as usize;
    let one_based: Vec<u64> = list(&data["m"])[..t].iter().map(|m| m.as_u64().unwrap() + 1).collect();
    json!({
        "kernel": kernel, "d": list(&data["x"])[0].as_array().unwrap().len(), "M": 4,
        "x": &list(&data["x"])[..t], "m": one_based, "y": &list(&data["y"])[..t], "xc": data["candidates"],
        "other": "ignored",
    })
}

fn exp(value: &Value) -> f64 {
    value.as_f64().unwrap().exp()
}

fn ard_params(case: &Value) -> Value {
    let lengthscales: Vec<f64> = list(&case["ln_lengthscales"]).iter().map(exp).collect();
    json!({
        "lengthscales": lengthscales, "signal_variance": exp(&case["ln_scale"]), "gamma": exp(&case["ln_gamma"]),
        "noise": case["noise"],
    })
}

fn check_belief(found: &Value, case: &Value) {
    let name = case["name"].as_str().unwrap();
    for (field, golden) in [("mean", "mean"), ("var", "variance"), ("cov", "covariance")] {
        assert_near(&numbers(&found[field]), &numbers(&case[golden]), POSTERIOR, name);
    }
    let lml = numbers(&case["lml"]);
    assert_near(&numbers(&found["lml"]), &lml, LIKELIHOOD * lml[0].abs(), name);
    assert_eq!(found["warnings"], json!([]), "{name}");
}

#[test]
fn ard_files_give_the_golden_values() {
    let golden = golden("gp.json");
    for case in list(&golden["ard"]) {
        let mut input = file(&golden, case, "ard");
        input["params"] = ard_params(case);
        let found = answer(&input);
        check_belief(&found, case);
        let params = &input["params"];
        let natural: Vec<f64> = ["lengthscales", "signal_variance", "gamma"]
            .iter()
            .flat_map(|&name| numbers(&params[name]))
            .collect();
        let want: Vec<f64> =
            numbers(&case["gradient"]).iter().zip(&natural).map(|(g, value)| g / value).collect();
        let got: Vec<f64> = ["lengthscales", "signal_variance", "gamma"]
            .iter()
            .flat_map(|&name| numbers(&found["grad"][name]))
            .collect();
        // The core promises 1e-3 of the largest logarithmic entry.
        let largest = numbers(&case["gradient"]).iter().fold(0.0, |largest: f64, g| largest.max(g.abs()));
        for ((got, want), value) in got.iter().zip(&want).zip(&natural) {
            assert_near(&[*got], &[*want], (GRADIENT * largest + 1e-5) / value, &format!("{}", case["name"]));
        }
    }
}

/// The hash that the reference makes its weights from.
fn splitmix64(state: u64) -> u64 {
    let mut z = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

fn deep_params(case: &Value, d: usize) -> Value {
    let (seed, width) = (case["seed"].as_u64().unwrap(), case["width"].as_u64().unwrap() as usize);
    let mut next = seed;
    let mut draw = |bound: f64, count: usize| -> Vec<f32> {
        let unit = |i| (splitmix64(i) >> 40) as f32 / 8_388_608.0 - 1.0;
        let drawn = (next..next + count as u64).map(|i| unit(i) * bound as f32).collect();
        next += count as u64;
        drawn
    };
    let (mut weights, mut biases) = (Vec::new(), Vec::new());
    for (layer, bound) in numbers(&case["bound"]).into_iter().enumerate() {
        let inputs = if layer == 0 { d } else { width };
        let rows: Vec<Vec<f32>> = draw(bound, inputs * width).chunks(inputs).map(<[f32]>::to_vec).collect();
        weights.push(rows);
        biases.push(draw(bound, width));
    }
    json!({"W": weights, "b": biases, "gamma": exp(&case["ln_gamma"]), "noise": case["noise"]})
}

#[test]
fn deep_files_give_the_golden_values() {
    let golden = golden("gp.json");
    for case in list(&golden["deep"]) {
        let mut input = file(&golden, case, "deep");
        let d = input["d"].as_u64().unwrap() as usize;
        input["params"] = deep_params(case, d);
        let found = answer(&input);
        check_belief(&found, case);
        let name = case["name"].as_str().unwrap();
        let flat: Vec<f64> = (0..3)
            .flat_map(|layer| {
                [numbers(&found["grad"]["W"][layer]), numbers(&found["grad"]["b"][layer])].concat()
            })
            .collect();
        let want = &case["gradient"];
        let allowed = GRADIENT * numbers(&want["largest"])[0] + 1e-5;
        for (index, value) in list(&want["index"]).iter().zip(list(&want["value"])) {
            assert_near(&[flat[index.as_u64().unwrap() as usize]], &numbers(value), allowed, name);
        }
        let sum_abs = numbers(&want["sum_abs"])[0];
        assert_near(&[flat.iter().map(|g| g.abs()).sum()], &[sum_abs], GRADIENT * sum_abs + 1e-5, name);
        let gamma = case["gradient_ln_gamma"].as_f64().unwrap() / exp(&case["ln_gamma"]);
        let allowed = allowed.max(GRADIENT * gamma.abs()) / exp(&case["ln_gamma"]);
        assert_near(&numbers(&found["grad"]["gamma"]), &[gamma], allowed, name);
    }
}

/// The terms themselves are held against the reference in the core's golden tests.
#[test]
fn a_score_is_what_both_terms_are_worth_per_cost() {
    let mut input = small();
    let particle =
        |length: f64| json!({"lengthscales": [length], "signal_variance": 1, "gamma": 0.1, "noise": 0.1});
    input["particles"] = json!([particle(0.2), particle(0.7)]);
    (input["fstar"], input["costs"], input["beta"], input["form"]) =
        (json!([[1, 2], [1.5, 3]]), json!([4]), json!(0.5), json!("paper"));
    let found = answer(&input);
    let [information, transfer, score] =
        ["information", "transfer", "score"].map(|name| numbers(&found[name]));
    for ((information, transfer), score) in information.iter().zip(&transfer).zip(score) {
        assert!(*information > 0.0 && *transfer > 0.0);
        assert_near(&[score], &[(information + 0.5 * transfer) / 4.0], 1e-6, "score");
    }
}

fn small() -> Value {
    json!({
        "kernel": "ard", "d": 1, "M": 1, "x": [[0.1], [0.1], [0.5]], "m": [1, 1, 1], "y": [0.3, 0.3, -0.2],
        "xc": [[0.1], [0.9]],
        "params": {"lengthscales": [0.3], "signal_variance": 2.0, "gamma": 0.1, "noise": 0.0},
    })
}

#[test]
fn a_raised_noise_is_told() {
    let found = answer(&small());
    let said = found["warnings"][0].as_str().unwrap();
    assert!(said.starts_with("params.noise: 0 at fidelity 1 was raised to 0.0006, 0.0003 of"), "{said}");
    let mut input = small();
    input["params"]["noise"] = json!(2.0 * NOISE_FLOOR);
    let same = answer(&input);
    assert_eq!((&same["mean"], &same["lml"], &same["warnings"]), (&found["mean"], &found["lml"], &json!([])));
}

#[test]
fn numbers_are_printed_short_and_read_back_to_the_same_bits() {
    let found = answer(&small());
    for mean in numbers(&found["mean"]) {
        let (text, single) = (mean.to_string(), mean as f32);
        assert_eq!(text, single.to_string(), "as few digits as single precision has");
    }
}

#[test]
fn without_observations_there_is_the_prior_and_without_candidates_the_likelihood() {
    let mut input = small();
    (input["x"], input["m"], input["y"]) = (json!([]), json!([]), json!([]));
    input["params"]["noise"] = json!(0.1);
    let found = answer(&input);
    assert_eq!((&found["mean"], &found["lml"]), (&json!([[0.0], [0.0]]), &json!(0.0)));
    assert_near(&numbers(&found["var"]), &[2.0, 2.0], 1e-6, "prior");
    let mut input = small();
    input["xc"] = json!([]);
    let found = answer(&input);
    assert_eq!(found["mean"], json!([]));
    assert!(found["lml"].as_f64().unwrap() < 0.0);
}

#[test]
fn a_decay_of_zero_makes_all_fidelities_one_and_has_a_gradient() {
    let golden = golden("gp.json");
    let case = list(&golden["ard"])
        .iter()
        .find(|case| case["name"] == "ard-d4-short-t40-noise-per-fidelity")
        .unwrap();
    let mut input = file(&golden, case, "ard");
    input["params"] = ard_params(case);
    let likelihood = |gamma: f64| {
        let mut input = input.clone();
        input["params"]["gamma"] = json!(gamma);
        let found = answer(&input);
        let row = numbers(&found["mean"][0]);
        (numbers(&found["lml"])[0], numbers(&found["grad"]["gamma"])[0], row)
    };
    let (at_zero, slope, row) = likelihood(0.0);
    assert_near(&row, &[row[0]; 4], 0.0, "fidelities");
    let h = 1e-3;
    let difference = (4.0 * likelihood(h).0 - 3.0 * at_zero - likelihood(2.0 * h).0) / (2.0 * h);
    assert!((difference - slope).abs() < 0.05 * slope.abs(), "{slope} against {difference}");
}

#[test]
fn too_extreme_numbers_are_an_error_that_names_the_result() {
    let mut input = small();
    input["y"] = json!([1e30, 1e30, -1e30]);
    assert_eq!(
        inspect(&input.to_string()).err().unwrap().to_string(),
        "`lml of params` does not come out finite: the numbers are too extreme for 32-bit floats"
    );
    input = small();
    input["params"]["lengthscales"] = json!([1e-42]);
    input["x"] = json!([[3e38], [-3e38], [0.0]]);
    let said = inspect(&input.to_string()).err().unwrap().to_string();
    assert!(said.starts_with("`kernel matrix of params` does not come out finite"), "{said}");
}

#[test]
fn both_kinds_of_parameters_at_once_are_told() {
    let mut input = small();
    let params = input["params"].clone();
    input["particles"] = json!([params]);
    (input["fstar"], input["costs"], input["beta"], input["form"]) =
        (json!([[1]]), json!([1]), json!(0), json!("correlated"));
    let found = answer(&input);
    assert_eq!(found["warnings"][0], "params: ignored, there are particles");
    assert_eq!((list(&found["mean"]).len(), &found["transfer"]), (1, &json!([[0.0], [0.0]])));
}
