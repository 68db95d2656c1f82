//! What a person sees of an HTML page, as text: its title, and what stands between the tags, block by block.

use html5gum::emitters::default::DefaultEmitter;
use html5gum::{Token, Tokenizer};

/// A page as text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    /// Its title; empty where it has none.
    pub title: String,
    /// Its text, one line a block.
    pub text: String,
}

/// Elements whose content nobody sees.
const UNSEEN: &[&str] =
    &["script", "style", "noscript", "template", "svg", "iframe", "noembed", "textarea", "select"];
/// Elements that stand within a line.
const INLINE: &[&str] = &[
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font",
    "i", "img", "ins", "kbd", "label", "mark", "q", "rp", "rt", "ruby", "s", "samp", "small", "span",
    "strong", "sub", "sup", "time", "tt", "u", "var", "wbr", "button", "input", "output", "picture",
    "source",
];

/// Reads a page.
pub fn read(html: &str) -> Page {
    let mut emitter = DefaultEmitter::default();
    emitter.naively_switch_states(true);
    let mut reader = Reader::default();
    for Ok(token) in Tokenizer::new_with_emitter(html, emitter) {
        match token {
            Token::StartTag(tag) => reader.open(&String::from_utf8_lossy(&tag.name), tag.self_closing),
            Token::EndTag(tag) => reader.close(&String::from_utf8_lossy(&tag.name)),
            Token::String(text) => reader.text(&String::from_utf8_lossy(&text)),
            _ => {}
        }
    }
    reader.finish()
}

#[derive(Default)]
struct Reader {
    title: String,
    in_title: bool,
    /// The unseen element that we are in, and how many of the same are open.
    unseen: Option<(String, usize)>,
    /// How many `pre` are open.
    verbatim: usize,
    lines: Vec<String>,
    line: String,
}

impl Reader {
    fn open(&mut self, name: &str, self_closing: bool) {
        match &mut self.unseen {
            Some((unseen, depth)) => *depth += usize::from(unseen == name && !self_closing),
            None if UNSEEN.contains(&name) => {
                self.unseen = (!self_closing).then(|| (name.to_owned(), 1));
            }
            None if name == "title" => self.in_title = true,
            None if INLINE.contains(&name) => {}
            None => {
                self.end_line();
                match name {
                    "li" => self.line.push_str("- "),
                    "td" | "th" => self.line.push(' '),
                    "pre" => self.verbatim += 1,
                    _ => {}
                }
            }
        }
    }

    fn close(&mut self, name: &str) {
        match &mut self.unseen {
            Some((unseen, depth)) => {
                *depth -= usize::from(unseen == name);
                if *depth == 0 {
                    self.unseen = None;
                }
            }
            None if name == "title" => self.in_title = false,
            None if INLINE.contains(&name) => {}
            None => {
                if name == "pre" {
                    self.verbatim = self.verbatim.saturating_sub(1);
                }
                self.end_line();
            }
        }
    }

    fn text(&mut self, text: &str) {
        match (&self.unseen, self.in_title, self.verbatim) {
            (Some(_), ..) => {}
            (None, true, _) => self.title.push_str(text),
            (None, false, 0) => {
                if text.starts_with(char::is_whitespace) {
                    self.space();
                }
                for (at, word) in text.split_whitespace().enumerate() {
                    if at > 0 {
                        self.space();
                    }
                    self.line.push_str(word);
                }
                if text.ends_with(char::is_whitespace) {
                    self.space();
                }
            }
            (None, false, _) => {
                for (at, part) in text.split('\n').enumerate() {
                    if at > 0 {
                        self.lines.push(std::mem::take(&mut self.line));
                    }
                    self.line.push_str(part.trim_end_matches('\r'));
                }
            }
        }
    }

    fn space(&mut self) {
        if !self.line.is_empty() && !self.line.ends_with(' ') {
            self.line.push(' ');
        }
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        if !line.trim().is_empty() {
            self.lines.push(line.trim_end().to_owned());
        }
    }

    fn finish(mut self) -> Page {
        self.end_line();
        Page {
            title: self.title.split_whitespace().collect::<Vec<_>>().join(" "),
            text: self.lines.join("\n").trim_matches('\n').to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_title_and_what_can_be_seen() {
        let html = "<!doctype html><title>A &amp;\n B</title><style>p{}</style><script>if (a < b) '</p>'</script>\
                    <h1>Head&shy;line</h1><p>One <b>bold</b>, <a href=x>two</a>\n three.<br>four</p>\
                    <!-- unseen --><ul><li>first<li>second</ul><pre>  a\n  b</pre><noscript>none</noscript>";
        let page = read(html);
        assert_eq!(page.title, "A & B");
        assert_eq!(page.text, "Head\u{ad}line\nOne bold, two three.\nfour\n- first\n- second\n  a\n  b");
    }

    #[test]
    fn any_garbage_is_read_to_its_end() {
        for html in [
            "",
            "<",
            "<p",
            "</",
            "<svg><svg></svg>x</svg>y",
            "</pre></title>z",
            "<script>never ends",
            "\0<\u{fffd}>",
        ] {
            read(html);
        }
        assert_eq!(read("<svg><svg></svg>x</svg>y").text, "y");
        assert_eq!(read("</pre>z<script>never ends").text, "z");
    }
}
