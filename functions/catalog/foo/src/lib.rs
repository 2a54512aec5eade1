#![doc = include_str!("../README.md")]

use portico_fn::Output;

/// The program: the same bytes out, `foo` on stderr, exit code 1.
pub fn program(input: Vec<u8>) -> Output {
    Output { stdout: input, stderr: "foo\n".to_owned(), exit_code: 1 }
}

#[cfg(test)]
mod tests {
    #[test]
    fn it_echoes_and_fails() {
        let output = super::program(b"x".to_vec());
        assert_eq!((output.stdout.as_slice(), output.stderr.as_str(), output.exit_code), (&b"x"[..], "foo\n", 1));
    }
}
