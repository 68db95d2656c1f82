//! A screen as a picture: a buffer of cells becomes an SVG with monospaced text, for the documentation.

use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};
use std::fmt::Write;

use super::text::width;
use super::theme::rgb;

/// The colours that stand for the terminal's own.
#[derive(Debug, Clone, Copy)]
pub struct Palette {
    /// The background.
    pub ground: &'static str,
    /// The foreground.
    pub text: &'static str,
}

impl Palette {
    /// For the dark theme.
    pub const DARK: Palette = Palette { ground: "#16181d", text: "#d7dae0" };
    /// For the light theme.
    pub const LIGHT: Palette = Palette { ground: "#ffffff", text: "#24272c" };
}

/// The size of a cell, in the units of the picture.
const CELL: (f32, f32) = (8.4, 17.0);
/// Where letters stand in their cell.
const BASELINE: f32 = 12.6;
/// Blank space around the screen.
const MARGIN: f32 = 14.0;

/// The screen as an SVG document.
pub fn render(buffer: &Buffer, palette: Palette) -> String {
    let area = buffer.area;
    let wide = f32::from(area.width) * CELL.0 + 2.0 * MARGIN;
    let high = f32::from(area.height) * CELL.1 + 2.0 * MARGIN;
    let mut out = String::new();
    let mut put = |text: std::fmt::Arguments| {
        // Writing to a string can't fail.
        let _ = out.write_fmt(text);
    };
    put(format_args!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{wide:.0}\" height=\"{high:.0}\" viewBox=\"0 0 {wide:.1} {high:.1}\" \
         font-family=\"ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace\" font-size=\"14\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{}\"/>\n",
        palette.ground
    ));
    for y in area.top()..area.bottom() {
        let mut x = area.left();
        while x < area.right() {
            let first = &buffer[(x, y)];
            let mut text = String::new();
            let start = x;
            while x < area.right() {
                let cell = &buffer[(x, y)];
                let alone = !plain(cell.symbol()) && !text.is_empty();
                if !same_look(cell, first) || alone {
                    break;
                }
                text.push_str(cell.symbol());
                x += (width(cell.symbol()) as u16).max(1);
                if !plain(cell.symbol()) {
                    break;
                }
            }
            put(format_args!("{}", run(&text, first, start - area.x, y - area.y, x - start, palette)));
        }
    }
    out.push_str("</svg>\n");
    out
}

/// Whether the symbol can stand in one text with its neighbours: the others are placed by themselves, since a
/// font may give them another width.
fn plain(symbol: &str) -> bool {
    symbol.is_ascii()
}

fn same_look(a: &Cell, b: &Cell) -> bool {
    (a.fg, a.bg, a.modifier) == (b.fg, b.bg, b.modifier)
}

fn run(text: &str, cell: &Cell, column: u16, row: u16, cells: u16, palette: Palette) -> String {
    let (x, y) = (MARGIN + f32::from(column) * CELL.0, MARGIN + f32::from(row) * CELL.1);
    let wide = f32::from(cells) * CELL.0;
    let mut ink = hex(cell.fg, palette.text);
    let mut ground = if cell.bg == Color::Reset { None } else { Some(hex(cell.bg, palette.ground)) };
    if cell.modifier.contains(Modifier::REVERSED) {
        let behind = ground.replace(ink).unwrap_or_else(|| palette.ground.to_owned());
        ink = behind;
    }
    let mut out = String::new();
    if let Some(ground) = ground {
        out.push_str(&format!(
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{wide:.1}\" height=\"{:.1}\" fill=\"{ground}\"/>\n",
            CELL.1
        ));
    }
    let faint = if cell.modifier.contains(Modifier::DIM) { " opacity=\"0.6\"" } else { "" };
    if let Some(path) = line_drawing(text, x, y) {
        return out
            + &format!("<path d=\"{path}\" fill=\"none\" stroke=\"{ink}\" stroke-width=\"1.2\"{faint}/>\n");
    }
    if text == "▌" {
        return out
            + &format!(
                "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{ink}\"{faint}/>\n",
                CELL.0 / 2.0,
                CELL.1
            );
    }
    if text.trim().is_empty() {
        return out;
    }
    let lead = text.len() - text.trim_start().len();
    let shown = text.trim();
    let x = x + lead as f32 * CELL.0;
    let mut looks = String::from(faint);
    if cell.modifier.contains(Modifier::BOLD) {
        looks.push_str(" font-weight=\"700\"");
    }
    if cell.modifier.contains(Modifier::ITALIC) {
        looks.push_str(" font-style=\"italic\"");
    }
    let marks = [(Modifier::UNDERLINED, "underline"), (Modifier::CROSSED_OUT, "line-through")];
    let marks: Vec<&str> =
        marks.iter().filter(|(m, _)| cell.modifier.contains(*m)).map(|(_, name)| *name).collect();
    if !marks.is_empty() {
        looks.push_str(&format!(" text-decoration=\"{}\"", marks.join(" ")));
    }
    let length = width(shown) as f32 * CELL.0;
    out + &format!(
        "<text x=\"{x:.1}\" y=\"{:.1}\" fill=\"{ink}\" textLength=\"{length:.1}\" lengthAdjust=\"spacingAndGlyphs\" \
         xml:space=\"preserve\"{looks}>{}</text>\n",
        y + BASELINE,
        escaped(shown)
    )
}

/// Lines and corners are drawn, so that they meet whatever the font.
fn line_drawing(text: &str, x: f32, y: f32) -> Option<String> {
    let (w, h) = CELL;
    let (cx, cy, right, bottom) = (x + w / 2.0, y + h / 2.0, x + w, y + h);
    Some(match text {
        "─" => format!("M{x:.1} {cy:.1}H{right:.1}"),
        "│" => format!("M{cx:.1} {y:.1}V{bottom:.1}"),
        "╭" => format!("M{cx:.1} {bottom:.1}Q{cx:.1} {cy:.1} {right:.1} {cy:.1}"),
        "╮" => format!("M{cx:.1} {bottom:.1}Q{cx:.1} {cy:.1} {x:.1} {cy:.1}"),
        "╰" => format!("M{cx:.1} {y:.1}Q{cx:.1} {cy:.1} {right:.1} {cy:.1}"),
        "╯" => format!("M{cx:.1} {y:.1}Q{cx:.1} {cy:.1} {x:.1} {cy:.1}"),
        _ => return None,
    })
}

fn hex(color: Color, own: &str) -> String {
    match rgb(color) {
        Some((r, g, b)) => format!("#{r:02x}{g:02x}{b:02x}"),
        None => own.to_owned(),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::layout::Rect;
    use ratatui::style::Style;

    #[test]
    fn text_is_placed_by_cell_and_escaped() {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 12, 1));
        buffer.set_string(0, 0, "修 <a> & b", Style::new().fg(Color::Rgb(1, 2, 3)));
        let svg = render(&buffer, Palette::DARK);
        assert!(svg.contains("&lt;a&gt; &amp; b") && svg.contains("#010203"), "{svg}");
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
    }
}
