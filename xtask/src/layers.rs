//! The rule of the layers: every dependency of an arrayloom crate points strictly downwards.
//!
//! A crate states its layer as `[package.metadata.arrayloom] layer = 3`. Only the crates of the top
//! layer may use `PyO3` or the `numpy` crate, and no crate may use unnamed layers. Dependencies of
//! tests are not judged.

use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

/// The layer of the crates that know Python.
const TOP: u64 = 6;
/// Crates that tie whoever uses them to a Python interpreter.
const PYTHON_ONLY: [&str; 3] = ["pyo3", "pyo3-ffi", "numpy"];
const OURS: &str = "arrayloom-";

/// Why the layers could not be checked, or what is wrong with them.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LayersError {
    #[error("cannot run cargo metadata: {0}; is cargo on the PATH?")]
    Start(std::io::Error),
    #[error("cargo metadata failed: {0}")]
    Metadata(String),
    #[error("cargo metadata is not what this task knows: {0}")]
    Format(String),
    #[error("{} violation(s) of the layers\n{}", .0.len(), .0.join("\n"))]
    Violations(Vec<String>),
}

/// A crate of the workspace: its layer, and what it needs outside tests.
#[derive(Debug, Default)]
struct Room {
    layer: Option<u64>,
    needs: Vec<String>,
}

/// Check the workspace at `root` and describe its layers.
pub(crate) fn check_workspace(root: &Path) -> Result<String, LayersError> {
    let cargo = option_env!("CARGO").unwrap_or("cargo");
    let done = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--no-deps"])
        .current_dir(root)
        .output()
        .map_err(LayersError::Start)?;
    if !done.status.success() {
        let text = String::from_utf8_lossy(&done.stderr).into_owned();
        return Err(LayersError::Metadata(text));
    }
    let metadata = serde_json::from_slice(&done.stdout)
        .map_err(|error| LayersError::Format(error.to_string()))?;
    let rooms = rooms(&metadata)?;
    let found = violations(&rooms);
    if found.is_empty() {
        Ok(describe(&rooms))
    } else {
        Err(LayersError::Violations(found))
    }
}

fn rooms(metadata: &Value) -> Result<BTreeMap<String, Room>, LayersError> {
    let missing = |what: &str| LayersError::Format(format!("no {what}"));
    let packages = metadata["packages"]
        .as_array()
        .ok_or_else(|| missing("packages"))?;
    let mut found = BTreeMap::new();
    for package in packages {
        let name = package["name"].as_str().ok_or_else(|| missing("name"))?;
        if !name.starts_with(OURS) {
            continue;
        }
        let dependencies = package["dependencies"]
            .as_array()
            .ok_or_else(|| missing("dependencies"))?;
        let room = Room {
            layer: package["metadata"]["arrayloom"]["layer"].as_u64(),
            needs: dependencies
                .iter()
                .filter(|needed| needed["kind"].as_str() != Some("dev"))
                .filter_map(|needed| needed["name"].as_str().map(str::to_owned))
                .collect(),
        };
        found.insert(name.to_owned(), room);
    }
    Ok(found)
}

/// One line for every edge or crate that breaks the rule.
fn violations(rooms: &BTreeMap<String, Room>) -> Vec<String> {
    let mut found = Vec::new();
    for (name, room) in rooms {
        let Some(layer) = room.layer else {
            found.push(format!(
                "{name} states no layer: add `layer` under [package.metadata.arrayloom]"
            ));
            continue;
        };
        for needed in &room.needs {
            found.extend(edge_violation(rooms, (name, layer), needed));
        }
    }
    found
}

fn edge_violation(
    rooms: &BTreeMap<String, Room>,
    (name, layer): (&str, u64),
    needed: &str,
) -> Option<String> {
    if PYTHON_ONLY.contains(&needed) && layer < TOP {
        return Some(format!(
            "{name} (layer {layer}) uses {needed}: only layer {TOP} may know Python"
        ));
    }
    // A crate without a layer is reported once, on its own.
    let below = rooms.get(needed)?.layer?;
    (below >= layer).then(|| {
        format!("{name} (layer {layer}) uses {needed} (layer {below}): edges must point downwards")
    })
}

fn describe(rooms: &BTreeMap<String, Room>) -> String {
    let mut layers: BTreeMap<u64, Vec<&str>> = BTreeMap::new();
    for (name, room) in rooms {
        let short = name.trim_start_matches(OURS);
        layers
            .entry(room.layer.unwrap_or_default())
            .or_default()
            .push(short);
    }
    let mut text = String::new();
    for (layer, names) in layers.iter().rev() {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "L{layer}  {}", names.join(" "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn package(name: &str, layer: Option<u64>, needs: &[(&str, Option<&str>)]) -> Value {
        let needs: Vec<Value> = needs
            .iter()
            .map(|(name, kind)| json!({ "name": name, "kind": kind }))
            .collect();
        let metadata = layer.map(|layer| json!({ "arrayloom": { "layer": layer } }));
        json!({ "name": name, "metadata": metadata, "dependencies": needs })
    }

    fn found(packages: &[Value]) -> Vec<String> {
        violations(&rooms(&json!({ "packages": packages })).unwrap())
    }

    #[test]
    fn downward_edges_pass() {
        let packages = [
            package("arrayloom-types", Some(0), &[("half", None)]),
            package("arrayloom-ir", Some(1), &[("arrayloom-types", None)]),
            package(
                "arrayloom-python",
                Some(6),
                &[("pyo3", None), ("arrayloom-ir", None)],
            ),
            package("xtask", None, &[("serde_json", None)]),
        ];
        assert_eq!(found(&packages), Vec::<String>::new());
    }

    #[test]
    fn sideways_and_upward_edges_fail() {
        let packages = [
            package("arrayloom-ir", Some(1), &[("arrayloom-plan", None)]),
            package("arrayloom-plan", Some(1), &[("arrayloom-engine", None)]),
            package("arrayloom-engine", Some(4), &[]),
        ];
        let found = found(&packages);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("arrayloom-ir (layer 1) uses arrayloom-plan (layer 1)"));
        assert!(found[1].contains("arrayloom-plan (layer 1) uses arrayloom-engine (layer 4)"));
    }

    #[test]
    fn python_below_the_top_fails() {
        let packages = [package("arrayloom-engine", Some(4), &[("pyo3", None)])];
        assert!(found(&packages)[0].contains("only layer 6 may know Python"));
        let packages = [package(
            "arrayloom-engine",
            Some(4),
            &[("numpy", Some("build"))],
        )];
        assert_eq!(found(&packages).len(), 1);
    }

    #[test]
    fn tests_may_use_anything() {
        let packages = [
            package(
                "arrayloom-ir",
                Some(1),
                &[("arrayloom-engine", Some("dev"))],
            ),
            package("arrayloom-engine", Some(4), &[]),
        ];
        assert_eq!(found(&packages), Vec::<String>::new());
    }

    #[test]
    fn a_crate_without_a_layer_fails_once() {
        let packages = [
            package("arrayloom-new", None, &[]),
            package("arrayloom-engine", Some(4), &[("arrayloom-new", None)]),
        ];
        assert_eq!(found(&packages).len(), 1);
        assert!(found(&packages)[0].contains("arrayloom-new states no layer"));
    }

    #[test]
    fn unknown_metadata_is_an_error() {
        assert!(matches!(rooms(&json!({})), Err(LayersError::Format(_))));
    }

    #[test]
    fn this_workspace_is_in_order() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let text = check_workspace(&root).unwrap();
        assert!(text.contains("types"), "{text}");
    }
}
