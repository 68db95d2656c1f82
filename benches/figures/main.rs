//! The figures that `benches/README.md` quotes, each as whole processes and beside a bare comparison made in the
//! same run. `cargo bench` runs them all; `cargo bench -- drain` those whose name holds the word.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "what can't go on here fails, and says where")]

mod board;
mod drain;
mod http;
mod scale;
mod scratch;
mod verbs;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let figures: [(&str, fn()); 9] = [
        ("drain", drain::figure),
        ("start", verbs::start),
        ("verbs", verbs::figure),
        ("workflows", scale::workflows),
        ("million", scale::million),
        ("writers", scale::writers),
        ("memory", scale::resident),
        ("first-frame", board::figure),
        ("http", http::figure),
    ];
    for (name, figure) in figures {
        if words.is_empty() || words.iter().any(|w| name.contains(w.as_str())) {
            figure();
        }
    }
}
