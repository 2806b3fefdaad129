//! The attribute `#[sojourn_net::test(world = "worlds/dsl.toml", seeds = 20)]`.

use proc_macro::{Delimiter, TokenStream, TokenTree};
use std::path::Path;

/// Makes a test of a function that takes a `Net`: it is called with the world of a scenario file, relative to the
/// folder of the package, once per seed from 1 on.
///
/// `world = "FILE"` or `worlds = ["FILE", …]`, one test each, `NAME::STEM`; `seeds = N`, by default 1. `SOJOURN_SEED=7`
/// selects one seed, and `SOJOURN_SEEDS=1-40` a range.
#[proc_macro_attribute]
pub fn test(arguments: TokenStream, item: TokenStream) -> TokenStream {
    match expand(arguments, &item) {
        Ok(tests) => item.into_iter().chain(tests).collect(),
        Err(text) => format!("compile_error!({text:?});").parse().expect("a literal is valid"),
    }
}

fn expand(arguments: TokenStream, item: &TokenStream) -> Result<TokenStream, String> {
    let (mut worlds, mut seeds) = (Vec::new(), "1".to_string());
    let tokens: Vec<TokenTree> = arguments.into_iter().collect();
    for argument in tokens.split(|token| token.to_string() == ",").filter(|argument| !argument.is_empty()) {
        let [TokenTree::Ident(key), TokenTree::Punct(equals), value] = argument else { return Err(USAGE.into()) };
        match (key.to_string().as_str(), equals.as_char(), value) {
            ("world", '=', TokenTree::Literal(world)) => worlds.push(text(&world.to_string())?),
            ("worlds", '=', TokenTree::Group(list)) if list.delimiter() == Delimiter::Bracket => {
                for world in list.stream().into_iter().filter(|token| token.to_string() != ",") {
                    worlds.push(text(&world.to_string())?);
                }
            }
            ("seeds", '=', TokenTree::Literal(count)) if count.to_string().parse::<u32>().is_ok_and(|n| n > 0) => {
                seeds = count.to_string();
            }
            _ => return Err(USAGE.into()),
        }
    }
    if worlds.is_empty() {
        return Err(USAGE.into());
    }
    let mut tokens = item.clone().into_iter().skip_while(|token| token.to_string() != "fn");
    let name = tokens.nth(1).map(|token| token.to_string()).ok_or("#[sojourn_net::test] is for functions")?;
    let mut tests = String::new();
    for world in &worlds {
        let stem = Path::new(world).file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        let stem: String = stem.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        let stem = if stem.starts_with(|c: char| c.is_ascii_digit()) { format!("world_{stem}") } else { stem };
        tests += &format!(
            "#[test] fn {stem}() {{ ::sojourn_net::run_test(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/\", {world:?}), \
             concat!(\"{name}-\", {stem:?}), {seeds}, super::{name}) }}\n"
        );
    }
    format!("mod {name} {{ {tests} }}").parse().map_err(|_| USAGE.to_string())
}

/// Contents of a string literal without escapes.
fn text(literal: &str) -> Result<String, String> {
    let text = literal.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    text.filter(|text| !text.contains('\\')).map(str::to_string).ok_or_else(|| USAGE.to_string())
}

const USAGE: &str = "write e.g. #[sojourn_net::test(world = \"worlds/dsl.toml\", seeds = 20)]";
