#![doc = include_str!("../README.md")]

use portico_fn::Output;

/// The program: the same bytes out.
pub fn program(input: Vec<u8>) -> Output {
    Output { stdout: input, stderr: String::new(), exit_code: 0 }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_byte_comes_back() {
        let input = b"\xffnot even: [yaml".to_vec();
        let output = super::program(input.clone());
        assert_eq!((output.stdout, output.exit_code), (input, 0));
    }
}
