//! Schemas from directories that are granted to kubeconform and kubeval.

use anyhow::{Result, ensure};
use portico_tests::cli::{KPTFILE, Place};

const MOUNT: &str = "--mount type=bind,src=./schemas,dst=/schemas";

/// A package with a `Shelf` of a kind that no cluster has, and schemas of it in the layouts that the tools know.
fn place(function: &str, location: &str) -> Result<Place> {
    let kptfile = format!(
        "{KPTFILE}pipeline:\n  validators:\n  - image: {function}\n    configMap:\n      strict: \"true\"\n      \
         schema_location: \"{location}\"\n"
    );
    let shelf = "apiVersion: shop.example.com/v1\nkind: Shelf\nmetadata:\n  name: s\nspec:\n  boards: many\n";
    let by_reference = r#"{"type": "object", "properties": {"spec": {"$ref": "_definitions.json#/definitions/spec"}}}"#;
    let definitions = r#"{"definitions": {"spec": {"properties": {"boards": {"type": "integer"}}}}}"#;
    let whole = r#"{"type": "object", "properties": {"spec": {"properties": {"boards": {"type": "integer"}}}}}"#;
    Place::with(&[
        ("pkg/Kptfile", &kptfile),
        ("pkg/shelf.yaml", shelf),
        ("schemas/master-standalone-strict/shelf-shop-v1.json", by_reference),
        ("schemas/master-standalone-strict/_definitions.json", definitions),
        ("schemas/shop.example.com/shelf_v1.json", whole),
    ])
}

const CONFORM: &str = "[error] shop.example.com/v1/Shelf/s spec.boards: got string, want integer";
const VAL: &str = "[error] shop.example.com/v1/Shelf/s spec.boards: Invalid type. Expected: integer, given: string";

#[test]
fn schemas_are_found_in_a_mounted_directory_by_layout_and_by_template() -> Result<()> {
    for location in [
        "/schemas",
        "file:///schemas/",
        "schemas",
        "/schemas/{{ .Group }}/{{ .ResourceKind }}_{{ .ResourceAPIVersion }}.json",
        "file:///schemas/master-standalone{{ .StrictSuffix }}/{{ .ResourceKind }}{{ .KindSuffix }}.json",
        "/schemas/{{.NormalizedKubernetesVersion}}-standalone{{.StrictSuffix}}/{{.ResourceKind}}{{.KindSuffix}}.json",
    ] {
        for (function, words) in [("kubeconform", CONFORM), ("gcr.io/kpt-fn/kubeval:v0.3", VAL)] {
            let place = place(function, location)?;
            place.run(&format!("render pkg {MOUNT}"))?.exits(1)?.mentions(&[words])?;
        }
    }
    Ok(())
}

#[test]
fn eval_takes_schemas_from_a_mounted_directory() -> Result<()> {
    let place = place("no-op", "")?;
    for (function, words) in [("kubeconform", CONFORM), ("kubeval", VAL)] {
        let line = format!("eval pkg -i {function} {MOUNT} -- schema_location=file:///schemas strict=true");
        place.run(&line)?.exits(1)?.mentions(&[words])?;
        // Of two places the second one has it.
        let line = format!("eval pkg -i {function} {MOUNT} -- additional_schema_locations=/schemas strict=true");
        place.run(&line)?.exits(1)?.mentions(&[words])?;
    }
    place.write("pkg/shelf.yaml", &place.read("pkg/shelf.yaml")?.replace("many", "3"))?;
    for function in ["kubeconform", "kubeval"] {
        let line = format!("eval pkg -i {function} {MOUNT} -- schema_location=/schemas strict=true");
        place.run(&line)?.exits(0)?;
    }
    Ok(())
}

#[test]
fn without_the_directory_the_message_says_what_to_pass() -> Result<()> {
    for function in ["kubeconform", "kubeval"] {
        let place = place(function, "file:///schemas")?;
        let before = place.read("pkg/shelf.yaml")?;
        for mount in ["", "--mount src=schemas,dst=/elsewhere"] {
            place.run(&format!("render pkg {mount}"))?.exits(1)?.mentions(&[
                "directory `/schemas` of schema location `file:///schemas` can't be read",
                "pass `--mount type=bind,src=DIR,dst=/schemas` to `portico render` or `portico eval`",
            ])?;
        }
        ensure!(place.read("pkg/shelf.yaml")? == before, "a validator changes nothing");
    }
    Ok(())
}
