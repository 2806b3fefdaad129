//! Help texts in the layout of the other commands of `sojourn`, which is click's.

use clap::{Args, Command};

/// Help of a command.
pub struct Help {
    /// Usage line without "Usage:".
    pub usage: &'static str,
    /// Description, in paragraphs.
    pub about: &'static str,
    /// Sections: title and definitions.
    pub sections: Vec<(&'static str, Vec<(String, String)>)>,
}

impl Help {
    /// The text in lines of at most [`WIDTH`] columns, without a final newline.
    pub fn text(&self) -> String {
        let mut lines = wrapped(&format!("Usage: {}", self.usage), WIDTH, "       ");
        for paragraph in self.about.split("\n\n").map(str::trim).filter(|paragraph| !paragraph.is_empty()) {
            lines.push(String::new());
            lines.extend(wrapped(paragraph, WIDTH - INDENT, "").iter().map(|line| format!("  {line}")));
        }
        for (title, definitions) in &self.sections {
            lines.extend([String::new(), format!("{title}:")]);
            lines.extend(listed(definitions));
        }
        lines.join("\n")
    }
}

/// Options of `T` with their descriptions, and `--help` if this is the last section.
pub fn options<T: Args>(last: bool) -> Vec<(String, String)> {
    let syntax = if last { super::args::syntax::<T>() } else { T::augment_args(Command::new("")) };
    let shown = syntax.get_arguments().filter(|arg| !arg.is_positional() && !arg.is_hide_set());
    let definition = |arg: &clap::Arg| {
        let short = arg.get_short().map(|short| format!("-{short}, ")).unwrap_or_default();
        let value = arg.get_value_names().filter(|_| arg.get_action().takes_values());
        let value = value.and_then(<[_]>::first).map(|value| format!(" {value}")).unwrap_or_default();
        let about = arg.get_help().map(ToString::to_string).unwrap_or_default();
        // clap strips the full stop of a doc comment.
        let end = if about.ends_with('.') { "" } else { "." };
        (format!("{short}--{}{value}", arg.get_long().unwrap_or_default()), format!("{about}{end}"))
    };
    shown.map(definition).collect()
}

/// Definitions in two columns; the first is as wide as its entries need, up to [`MAX_FIRST`].
fn listed(definitions: &[(String, String)]) -> Vec<String> {
    let width = |text: &str| text.chars().count();
    let first = definitions.iter().map(|(term, _)| width(term)).max().unwrap_or(0).min(MAX_FIRST) + GAP;
    let margin = " ".repeat(INDENT + first);
    let mut lines = Vec::new();
    for (term, about) in definitions {
        let mut about = wrapped(about, WIDTH - INDENT - first, "").into_iter();
        if width(term) + GAP <= first {
            lines.push(format!("  {term:first$}{}", about.next().unwrap_or_default()));
        } else {
            lines.push(format!("  {term}"));
        }
        lines.extend(about.map(|line| format!("{margin}{line}")));
    }
    lines
}

/// Wraps to lines of at most `width` columns; continuation lines begin with `margin`.
fn wrapped(text: &str, width: usize, margin: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => *line += &format!(" {word}"),
            Some(_) => lines.push(format!("{margin}{word}")),
            None => lines.push(word.to_string()),
        }
    }
    lines
}

/// Columns of a text, as in click with a terminal of 80.
const WIDTH: usize = 78;
const INDENT: usize = 2;
const GAP: usize = 2;
const MAX_FIRST: usize = 30;

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Args)]
    struct Options {
        /// Do it [once].
        #[arg(short, long)]
        once: bool,
        /// A value with a text that is so long that it has to go on in the next line.
        #[arg(long, value_name = "VALUE-OF-A-LONG-NAME-INDEED")]
        value: Option<String>,
        /// In the dark
        #[arg(long, hide = true)]
        dark: bool,
    }

    #[test]
    fn terms_and_texts_are_columns() {
        let sections = vec![("Options", options::<Options>(true))];
        let help = Help { usage: "sojourn x [OPTIONS]", about: "Do\nthis.\n\nOr that.", sections };
        let expected = "\
Usage: sojourn x [OPTIONS]

  Do this.

  Or that.

Options:
  -o, --once                      Do it [once].
  --value VALUE-OF-A-LONG-NAME-INDEED
                                  A value with a text that is so long that it
                                  has to go on in the next line.
  -h, --help                      Show this message and exit.";
        assert_eq!(help.text(), expected);
    }
}
