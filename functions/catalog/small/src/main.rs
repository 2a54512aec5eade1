//! The small functions of the catalog in one module.
//!
//! Each of them would carry its own copy of the YAML core, most of its size. One module holds it once, is compiled once
//! and loaded once in a render that calls several of them. `argv[0]` says which function is meant.

#[cfg(test)]
mod odd;

use std::process::ExitCode;

use portico_fn::{Output, Program, main_of};

/// The functions by name. `Cargo.toml` lists the same names for the build.
const FUNCTIONS: &[(&str, Program)] = &[
    ("annotate-apply-time-mutations", annotate_apply_time_mutations::program),
    ("apply-replacements", apply_replacements::program),
    ("apply-setters", apply_setters::program),
    ("bar", bar::program),
    ("create-setters", create_setters::program),
    ("delete-annotations", delete_annotations::program),
    ("drop-comments", drop_comments::program),
    ("enable-gcp-services", enable_gcp_services::program),
    ("ensure-name-substring", ensure_name_substring::program),
    ("fix", fix::program),
    ("foo", foo::program),
    ("generate-folders", generate_folders::program),
    ("list-setters", list_setters::program),
    ("no-op", no_op::program),
    ("printenv", printenv::program),
    ("remove-local-config-resources", remove_local_config_resources::program),
    ("search-replace", search_replace::program),
    ("set-annotations", set_annotations::program),
    ("set-enforcement-action", set_enforcement_action::program),
    ("set-image", set_image::program),
    ("set-labels", set_labels::program),
    ("set-name-prefix", set_name_prefix::program),
    ("set-namespace", set_namespace::program),
    ("set-project-id", set_project_id::program),
    ("upsert-resource", upsert_resource::program),
];

fn main() -> ExitCode {
    let called = std::env::args_os().next().map(|name| name.display().to_string()).unwrap_or_default();
    match program(&called) {
        Some(program) => main_of(program),
        None => main_of(|_| unknown(&called)),
    }
}

/// The function of this name; a path and the ending of a file are ignored.
fn program(called: &str) -> Option<Program> {
    let file = called.rsplit('/').next().unwrap_or(called);
    let name = file.strip_suffix(".wasm").unwrap_or(file);
    FUNCTIONS.iter().find(|(known, _)| *known == name).map(|(_, program)| *program)
}

fn unknown(called: &str) -> Output {
    let names: Vec<&str> = FUNCTIONS.iter().map(|(name, _)| *name).collect();
    let names = names.join(", ");
    Output {
        stdout: Vec::new(),
        stderr: format!("no function `{called}` in this module; it is called by one of these names: {names}\n"),
        exit_code: 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_found_by_its_bare_name_and_by_a_file_name() {
        assert!(program("set-labels").is_some());
        assert!(program("/modules/set-labels.wasm").is_some());
        assert!(program("set-label").is_none());
        assert!(program("").is_none());
    }

    #[test]
    fn the_build_knows_every_function_of_the_module() {
        let manifest = include_str!("../Cargo.toml");
        for (name, _) in FUNCTIONS {
            assert!(manifest.contains(&format!("\"{name}\"")), "{name} is missing in package.metadata.portico");
        }
    }

    #[test]
    fn an_unknown_name_is_told_what_there_is() {
        let output = unknown("x");
        assert_eq!(output.exit_code, 2);
        assert!(output.stderr.contains("set-namespace"), "{}", output.stderr);
    }
}
