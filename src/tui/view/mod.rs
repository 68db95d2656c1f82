//! Views: they read the state and draw it. Only what is in view is built. Colours come from roles of the theme,
//! places from `layout`.

pub mod answer;
pub mod board;
pub mod card;
pub mod detail;
pub mod float;
pub mod footer;
pub mod form;
pub mod header;
pub mod help;
pub mod history;
pub mod log;
pub mod pen;

use ratatui::Frame;

use super::app::App;
use super::layer::Layer;
use super::layout;

/// Draws everything.
pub fn draw(frame: &mut Frame, app: &App) {
    // The terminal may have changed its size a moment ago; the event that says so is on its way.
    if (frame.area().width, frame.area().height) != app.size {
        return;
    }
    let screen = layout::screen(app);
    let buffer = frame.buffer_mut();
    header::draw(app, &screen, buffer);
    board::draw(app, &screen, buffer);
    detail::draw(app, &screen, buffer);
    let mut cursor = footer::draw(app, &screen, buffer);
    if app.layers.iter().any(|layer| !matches!(layer, Layer::Search(_))) {
        // What floats is what matters now.
        for area in [screen.strip, screen.board, screen.panel] {
            pen::fade(app, area, buffer);
        }
    }
    for layer in &app.layers {
        cursor = match layer {
            Layer::Help(help) => help::draw(app, help, buffer),
            Layer::Form(form) => form::draw(app, form, buffer),
            Layer::Answer(answer) => answer::draw(app, answer, buffer),
            Layer::Prompt(prompt) => float::prompt(app, prompt, buffer),
            Layer::Confirm(confirm) => float::confirm(app, confirm, buffer),
            Layer::Quit(_) => float::quit(app, buffer),
            Layer::Boards(boards) => float::boards(app, boards, buffer),
            Layer::Why(why) => float::why(app, why, buffer),
            Layer::Search(_) => cursor,
        };
    }
    footer::trouble(app, buffer);
    if let Some(cursor) = cursor {
        frame.set_cursor_position(cursor);
    }
}
