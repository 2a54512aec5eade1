#![doc = include_str!("../README.md")]

use portico_fn::Output;

/// The program: the same bytes out, the environment on stderr, exit code 1.
pub fn program(input: Vec<u8>) -> Output {
    let variables = std::env::vars_os().map(|(name, value)| (name.display().to_string(), value.display().to_string()));
    Output { stdout: input, stderr: listing(variables.collect()), exit_code: 1 }
}

/// One `NAME=VALUE` a line, sorted.
fn listing(mut variables: Vec<(String, String)>) -> String {
    variables.sort();
    let lines: Vec<String> = variables.iter().map(|(name, value)| format!("{name}={value}\n")).collect();
    lines.concat()
}

#[cfg(test)]
mod tests {
    #[test]
    fn variables_are_listed_in_order() {
        let variables = [("B", "2"), ("A", "1")].map(|(n, v)| (n.to_owned(), v.to_owned())).to_vec();
        assert_eq!(super::listing(variables), "A=1\nB=2\n");
    }
}
