//! Probes that never look at their input.

use portico_fn::Output;

/// Gives its input back byte for byte.
pub(crate) fn identity(input: Vec<u8>) -> Output {
    Output { stdout: input, stderr: String::new(), exit_code: 0 }
}

/// Prints nothing and is content.
pub(crate) fn empty(_: Vec<u8>) -> Output {
    Output { stdout: Vec::new(), stderr: String::new(), exit_code: 0 }
}

/// Prints something that is no YAML and is content.
pub(crate) fn garbage(_: Vec<u8>) -> Output {
    Output {
        stdout: b"this: is: not: yaml\nnor: is: this\n".to_vec(),
        stderr: "garbage: about to print\n".to_owned(),
        exit_code: 0,
    }
}

/// Gives its input back and fails with a code of its own.
pub(crate) fn fail3(input: Vec<u8>) -> Output {
    Output { stdout: input, stderr: "cannot reach the quota table\n".to_owned(), exit_code: 3 }
}
