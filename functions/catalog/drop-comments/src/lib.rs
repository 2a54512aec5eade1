#![doc = include_str!("../README.md")]

use portico_fn::{Error, Output, ResourceList, Verdict, plain_copy, run};

/// The program: bytes of a `ResourceList` in, bytes of a `ResourceList` out.
#[expect(clippy::needless_pass_by_value, reason = "programs own their input: some give it back as it is")]
pub fn program(input: Vec<u8>) -> Output {
    run(&process, &input)
}

fn process(list: &mut ResourceList) -> Result<Verdict, Error> {
    for item in &mut list.items {
        *item = plain_copy(item, false)?;
    }
    Ok(Verdict::Pass)
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::program;

    fn items(list: &str) -> String {
        let output = program(list.as_bytes().to_vec());
        assert_eq!((output.stderr.as_str(), output.exit_code), ("", 0));
        let text = String::from_utf8(output.stdout).expect("text");
        text.split_once("items:\n").expect("items").1.to_owned()
    }

    const HEAD: &str = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n";

    #[test]
    fn comments_and_styles_go_and_the_order_of_keys_stays() {
        let list = format!(
            "{HEAD}- apiVersion: v1 # c\n  kind: 'ConfigMap'\n  # h\n  metadata: {{name: a}}\n  data:\n    b: \"1\"\n    a: 'x'\n"
        );
        let expected =
            "- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: a\n  data:\n    b: \"1\"\n    a: x\n";
        assert_eq!(items(&list), expected);
    }

    #[test]
    fn aliases_and_merge_keys_become_what_they_stand_for() {
        let list = format!(
            "{HEAD}- apiVersion: v1\n  kind: X\n  metadata:\n    name: a\n  one: &o\n    k: v\n  two: *o\n  three:\n    <<: *o\n    own: 1\n"
        );
        let text = items(&list);
        assert!(text.contains("  two:\n    k: v\n"), "{text}");
        assert!(text.contains("  three:\n    own: 1\n    k: v\n"), "{text}");
    }

    #[test]
    fn an_alias_bomb_is_an_error_and_not_a_full_memory() {
        let mut list = format!("{HEAD}- apiVersion: v1\n  kind: X\n  metadata:\n    name: a\n  a0: &a0 [x, x]\n");
        for i in 1..40 {
            let _ = writeln!(list, "  a{i}: &a{i} [*a{p}, *a{p}]", p = i - 1);
        }
        let output = program(list.into_bytes());
        assert_eq!(output.exit_code, 1);
        assert!(output.stderr.contains("more than 1000000 values"), "{}", output.stderr);
    }
}
