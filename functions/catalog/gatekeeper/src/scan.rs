//! What a policy calls and imports, read from its text: the evaluator finds a function that it does not have only when
//! the call is reached, and is silent about it inside of other functions.

use std::collections::BTreeMap;

use crate::builtins::refused;
use crate::tokens::{Token, tokens};

/// Roots of `data` that a policy may import from.
const ROOTS: &[&str] = &["inventory", "lib"];
/// Words that stand before a bracket without calling anything; `set()` is the empty set.
const WORDS: &[&str] = &["as", "default", "else", "every", "if", "in", "not", "set", "some", "with"];

/// Deepest nesting of brackets. The evaluator's parser reads a list twice (as a list and as a comprehension), the lists in
/// it four times, and so on.
const DEPTH: u32 = 20;

/// What a policy's text says of functions.
#[derive(Debug, Default)]
pub(crate) struct Scan<'r> {
    /// Paths by the names under which they are imported.
    pub(crate) imports: BTreeMap<&'r str, &'r str>,
    /// Every call, and the head of every function.
    pub(crate) calls: Vec<Call<'r>>,
}

/// A name with a bracket behind it.
#[derive(Debug)]
pub(crate) struct Call<'r> {
    pub(crate) name: &'r str,
    pub(crate) line: usize,
    /// The function that it stands in the definition of.
    pub(crate) within: Option<&'r str>,
}

impl<'r> Scan<'r> {
    /// Reads a policy; the error says why it may not run.
    pub(crate) fn of(rego: &'r str) -> Result<Scan<'r>, String> {
        let tokens = tokens(rego);
        let mut scan = Scan { imports: imports(&tokens)?, calls: Vec::new() };
        let mut depth = 0u32;
        let mut within = None;
        for (at, token) in tokens.iter().enumerate() {
            let is_call =
                tokens.get(at + 1).is_some_and(|open| open.text == "(" && open.follows) && is_name(token.text);
            let is_head = depth == 0 && token.starts_line && is_name(token.text) && token.text != "else";
            if is_head {
                within = is_call.then_some(token.text);
            }
            match token.text {
                "(" | "[" | "{" if depth == DEPTH => {
                    return Err(format!("line {}: brackets are nested more than {DEPTH} deep", token.line));
                }
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth = depth.saturating_sub(1),
                name if is_call && !WORDS.contains(&name) => {
                    scan.call(Call { name, line: token.line, within: within.filter(|_| !is_head) })?;
                }
                _ => {}
            }
        }
        Ok(scan)
    }

    fn call(&mut self, call: Call<'r>) -> Result<(), String> {
        let root = call.name.split('.').next().unwrap_or_default();
        if !self.imports.contains_key(root)
            && let Some(reason) = refused(call.name)
        {
            return Err(format!("line {}: `{}` is not available: {reason}", call.line, call.name));
        }
        self.calls.push(call);
        Ok(())
    }
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

fn imports<'r>(tokens: &[Token<'r>]) -> Result<BTreeMap<&'r str, &'r str>, String> {
    let mut imports = BTreeMap::new();
    for (at, token) in tokens.iter().enumerate() {
        let Some(path) = tokens.get(at + 1).filter(|_| token.text == "import" && token.starts_line) else { continue };
        if let Some(root) = path.text.strip_prefix("data.").and_then(|path| path.split('.').next())
            && !ROOTS.contains(&root)
        {
            return Err(format!(
                "line {}: `import {}`: a template can import from `data.lib` and `data.inventory`, nothing else",
                path.line, path.text
            ));
        }
        let renamed = tokens.get(at + 2).filter(|word| word.text == "as").and_then(|_| tokens.get(at + 3));
        let alias = renamed.map_or_else(|| path.text.rsplit('.').next().unwrap_or_default(), |name| name.text);
        imports.insert(alias, path.text);
    }
    Ok(imports)
}

#[cfg(test)]
mod tests {
    use super::Scan;

    fn fault(rego: &str) -> Option<String> {
        Scan::of(rego).err()
    }

    #[test]
    fn a_call_of_what_is_not_here_is_told_with_its_line_and_reason() {
        let text = fault("package p\nviolation[{\"msg\": m}] {\n  r := http.send({\"url\": \"x\"})\n}\n").unwrap();
        assert_eq!(text, "line 3: `http.send` is not available: functions have no network");
        assert!(fault("x { external_data({}) }").unwrap().contains("no network"));
        assert!(fault("x { time.now_ns() > 3 }").unwrap().starts_with("line 1: `time.now_ns`"));
    }

    #[test]
    fn names_in_strings_comments_and_fields_are_no_calls() {
        for rego in [
            "# http.send(x)\nx { true }",
            "x { y := \"\\\" http.send(\" }",
            "x { y := `http.send(\n(` }",
            "x { input.http.send }",
            "x { input.review.http.send[_] }",
            "import data.lib.crypto\nx { crypto.check(1) }",
        ] {
            assert_eq!(fault(rego), None, "{rego}");
        }
    }

    #[test]
    fn calls_are_known_with_the_function_that_makes_them() {
        let rego =
            "import data.lib.a as b\nf(x) = y {\n  y := g(x)\n} else = z {\n  not set()\n  z := b.h(x)\n}\nr { f(1) }";
        let scan = Scan::of(rego).unwrap();
        let calls: Vec<_> = scan.calls.iter().map(|call| (call.name, call.line, call.within)).collect();
        assert_eq!(calls, [("f", 2, None), ("g", 3, Some("f")), ("b.h", 6, Some("f")), ("f", 8, None)]);
        assert_eq!(scan.imports.get("b"), Some(&"data.lib.a"));
    }

    #[test]
    fn imports_reach_the_inventory_and_the_libraries_alone() {
        assert_eq!(fault("package p\nimport data.lib.helpers\nimport data.inventory\nimport input.review\n"), None);
        assert!(fault("package p\n\nimport data.secrets\n").unwrap().starts_with("line 3: `import data.secrets`"));
    }
}
