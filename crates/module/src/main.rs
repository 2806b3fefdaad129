//! `sojourn-module IN.wasm OUT.c`

use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<_> = std::env::args().skip(1).collect();
    let [input, output] = args.as_slice() else {
        eprintln!("usage: sojourn-module IN.wasm OUT.c");
        return ExitCode::from(2);
    };
    let translated = std::fs::read(input)
        .map_err(|error| format!("{input}: {error}"))
        .and_then(|wasm| sojourn_module::translate(&wasm).map_err(|error| format!("{input}: {error}")))
        .and_then(|text| std::fs::write(output, text).map_err(|error| format!("{output}: {error}")));
    match translated {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}
