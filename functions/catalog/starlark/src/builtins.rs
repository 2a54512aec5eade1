//! Builtins that differ from the evaluator's own: `print` and `fail` take `sep`.

use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::none::NoneType;
use starlark::values::tuple::UnpackTuple;
use starlark::values::{Value, ValueLike};
use starlark::{Error, ErrorKind};

use crate::printer::Print;

/// The arguments as `print` shows them: strings as they are, everything else as `repr`.
fn join(args: &[Value<'_>], separator: &str) -> String {
    let mut out = String::new();
    for (i, arg) in args.iter().enumerate() {
        if i > 0 {
            out.push_str(separator);
        }
        match arg.unpack_str() {
            Some(text) => out.push_str(text),
            None => arg.collect_repr(&mut out),
        }
    }
    out
}

#[starlark_module]
pub(crate) fn register(globals: &mut GlobalsBuilder) {
    /// Writes its arguments as one line.
    fn print<'v>(
        #[starlark(args)] args: UnpackTuple<Value<'v>>,
        #[starlark(require = named, default = " ")] sep: &str,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        if let Some(print) = eval.extra.and_then(|e| e.downcast_ref::<Print<'_>>()) {
            print.0.print_line(&join(&args.items, sep));
        }
        Ok(NoneType)
    }

    /// Ends the script with an error.
    fn fail<'v>(
        #[starlark(args)] args: UnpackTuple<Value<'v>>,
        #[starlark(require = named, default = " ")] sep: &str,
    ) -> starlark::Result<NoneType> {
        Err(Error::new_kind(ErrorKind::Fail(anyhow::Error::msg(format!(" {}", join(&args.items, sep))))))
    }
}
