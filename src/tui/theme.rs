//! Themes: what each role on the screen looks like. Views name roles, never colours; a theme is a TOML file
//! that gives each role a few words such as `"bold #f0a81c"`.

use ratatui::style::{Color, Modifier, Style};
use thiserror::Error;

use crate::domain::TaskStatus;

macro_rules! roles {
    ($($(#[$doc:meta])* $variant:ident = $name:literal),+ $(,)?) => {
        /// What a piece of the screen is there for.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Role { $($(#[$doc])* $variant),+ }

        impl Role {
            /// All of them.
            pub const ALL: &'static [Role] = &[$(Role::$variant),+];

            /// The key in a theme's file.
            pub fn name(self) -> &'static str {
                match self { $(Role::$variant => $name),+ }
            }
        }
    };
}

roles! {
    /// What is neither bold nor dim.
    Text = "text",
    /// Titles.
    Title = "title",
    /// What is secondary: numbers, ages, labels.
    Dim = "dim",
    /// Rules between columns and around what floats.
    Rule = "rule",
    /// What is in focus.
    Accent = "accent",
    /// The title of the selected card or line.
    Selected = "selected",
    /// What needs a person now.
    Lamp = "lamp",
    /// What went wrong.
    Danger = "danger",
    /// What went well.
    Done = "done",
    /// A key in the footer and the help.
    Key = "key",
    /// A heading inside a panel.
    Heading = "heading",
    /// Text that is being typed.
    Input = "input",
    /// What an empty field says.
    Placeholder = "placeholder",
    /// Characters that the filter matched.
    Match = "match",
    /// The open tab.
    Tab = "tab",
    /// The card that is held.
    Held = "held",
    /// A bar of progress.
    Progress = "progress",
    /// PENDING.
    Pending = "pending",
    /// QUEUED.
    Queued = "queued",
    /// RUNNING.
    Running = "running",
    /// REVIEW.
    Review = "review",
    /// BLOCKED.
    Blocked = "blocked",
    /// FAILED.
    Failed = "failed",
    /// SUSPENDED.
    Suspended = "suspended",
    /// SUCCESS.
    Success = "success",
    /// CANCELLED.
    Cancelled = "cancelled",
}

/// How many colours the terminal has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Depth {
    /// Any colour.
    #[default]
    True,
    /// The 16 names only.
    Sixteen,
}

/// Which theme is wanted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ThemeChoice {
    /// `dark` or `light` by the terminal's background, `ansi` where it has no true colour.
    #[default]
    Auto,
    /// One of [`Theme::NAMES`].
    Named(String),
    /// The text of a theme file; `base = "dark"` names the theme whose roles it starts from.
    Custom(String),
}

/// Why a theme can't be used. Lists every fault.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the theme has faults:\n  {}", .0.join("\n  "))]
pub struct ThemeError(pub Vec<String>);

/// A style for each role.
#[derive(Debug, Clone, PartialEq)]
pub struct Theme {
    styles: Vec<Style>,
    /// Whether it may set colours at all; false for `none`, whatever a log or a file says.
    pub colored: bool,
}

impl Theme {
    /// The themes that are built in.
    pub const NAMES: [&'static str; 5] = ["dark", "light", "high-contrast", "ansi", "none"];

    /// The theme for a choice. `color` is false under NO_COLOR or `--color never`; `light` says whether the
    /// terminal's background is light.
    pub fn choose(choice: &ThemeChoice, color: bool, depth: Depth, light: bool) -> Result<Theme, ThemeError> {
        if !color {
            return Theme::named("none");
        }
        let mut theme = match choice {
            ThemeChoice::Auto if depth == Depth::Sixteen => Theme::named("ansi")?,
            ThemeChoice::Auto => Theme::named(if light { "light" } else { "dark" })?,
            ThemeChoice::Named(name) => Theme::named(name)?,
            ThemeChoice::Custom(text) => Theme::custom(text)?,
        };
        if depth == Depth::Sixteen {
            for style in &mut theme.styles {
                style.fg = style.fg.map(nearest_name);
                style.bg = style.bg.map(nearest_name);
            }
        }
        Ok(theme)
    }

    /// A built-in theme.
    pub fn named(name: &str) -> Result<Theme, ThemeError> {
        let text = match name {
            "dark" => include_str!("../../assets/themes/dark.toml"),
            "light" => include_str!("../../assets/themes/light.toml"),
            "high-contrast" => include_str!("../../assets/themes/high-contrast.toml"),
            "ansi" => include_str!("../../assets/themes/ansi.toml"),
            "none" => include_str!("../../assets/themes/none.toml"),
            other => {
                let known = Theme::NAMES.join(", ");
                return Err(ThemeError(vec![format!("there is no theme `{other}`; there are {known}")]));
            }
        };
        let blank = Theme { styles: vec![Style::new(); Role::ALL.len()], colored: name != "none" };
        blank.overlaid(text)
    }

    fn custom(text: &str) -> Result<Theme, ThemeError> {
        let base = text
            .parse::<toml_edit::DocumentMut>()
            .ok()
            .and_then(|document| document.get("base")?.as_str().map(str::to_owned));
        Theme::named(base.as_deref().unwrap_or("dark"))?.overlaid(text)
    }

    fn overlaid(mut self, text: &str) -> Result<Theme, ThemeError> {
        let document = text
            .parse::<toml_edit::DocumentMut>()
            .map_err(|error| ThemeError(error.to_string().lines().map(str::to_owned).collect()))?;
        let mut faults = Vec::new();
        for (key, item) in document.iter() {
            if key == "base" {
                continue;
            }
            let Some(role) = Role::ALL.iter().find(|role| role.name() == key) else {
                faults.push(format!("`{key}` is no role"));
                continue;
            };
            match item.as_str().map(style_of) {
                Some(Ok(style)) => self.styles[*role as usize] = style,
                Some(Err(word)) => faults.push(format!("`{key}`: `{word}` is neither a colour nor a weight")),
                None => faults.push(format!("`{key}` must be a text such as \"bold #f0a81c\"")),
            }
        }
        if faults.is_empty() { Ok(self) } else { Err(ThemeError(faults)) }
    }

    /// The style of a role.
    pub fn style(&self, role: Role) -> Style {
        self.styles[role as usize]
    }

    /// The style of a status.
    pub fn status(&self, status: TaskStatus) -> Style {
        self.style(match status {
            TaskStatus::Pending => Role::Pending,
            TaskStatus::Queued => Role::Queued,
            TaskStatus::Running => Role::Running,
            TaskStatus::Review => Role::Review,
            TaskStatus::Blocked => Role::Blocked,
            TaskStatus::Failed => Role::Failed,
            TaskStatus::Suspended => Role::Suspended,
            TaskStatus::Success => Role::Success,
            TaskStatus::Cancelled => Role::Cancelled,
        })
    }
}

/// The sign of a status, so that nothing is said by colour alone.
pub fn glyph(status: TaskStatus) -> &'static str {
    match status {
        TaskStatus::Pending => "○",
        TaskStatus::Queued => "◔",
        TaskStatus::Running => "●",
        TaskStatus::Review => "◇",
        TaskStatus::Blocked => "◆",
        TaskStatus::Failed => "✗",
        TaskStatus::Suspended => "‖",
        TaskStatus::Success => "✓",
        TaskStatus::Cancelled => "⊘",
    }
}

fn style_of(words: &str) -> Result<Style, String> {
    let mut style = Style::new();
    let mut background = false;
    for word in words.split_whitespace() {
        match word {
            "bold" => style = style.add_modifier(Modifier::BOLD),
            "dim" => style = style.add_modifier(Modifier::DIM),
            "italic" => style = style.add_modifier(Modifier::ITALIC),
            "underline" => style = style.add_modifier(Modifier::UNDERLINED),
            "reverse" => style = style.add_modifier(Modifier::REVERSED),
            "struck" => style = style.add_modifier(Modifier::CROSSED_OUT),
            "on" => background = true,
            word => {
                let color = color_of(word).ok_or_else(|| word.to_owned())?;
                style = if background { style.bg(color) } else { style.fg(color) };
                background = false;
            }
        }
    }
    Ok(style)
}

/// The 16 names with the colours that xterm gives them.
const NAMED: [(&str, Color, (u8, u8, u8)); 16] = [
    ("black", Color::Black, (0, 0, 0)),
    ("red", Color::Red, (205, 0, 0)),
    ("green", Color::Green, (0, 205, 0)),
    ("yellow", Color::Yellow, (205, 205, 0)),
    ("blue", Color::Blue, (0, 0, 238)),
    ("magenta", Color::Magenta, (205, 0, 205)),
    ("cyan", Color::Cyan, (0, 205, 205)),
    ("white", Color::Gray, (229, 229, 229)),
    ("bright-black", Color::DarkGray, (127, 127, 127)),
    ("bright-red", Color::LightRed, (255, 0, 0)),
    ("bright-green", Color::LightGreen, (0, 255, 0)),
    ("bright-yellow", Color::LightYellow, (255, 255, 0)),
    ("bright-blue", Color::LightBlue, (92, 92, 255)),
    ("bright-magenta", Color::LightMagenta, (255, 0, 255)),
    ("bright-cyan", Color::LightCyan, (0, 255, 255)),
    ("bright-white", Color::White, (255, 255, 255)),
];

fn color_of(word: &str) -> Option<Color> {
    if let Some(hex) = word.strip_prefix('#')
        && hex.len() == 6
        && hex.is_ascii()
    {
        let part = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).ok();
        return Some(Color::Rgb(part(0)?, part(2)?, part(4)?));
    }
    NAMED.iter().find(|(name, ..)| *name == word).map(|(_, color, _)| *color)
}

/// The red, green and blue of a colour, as xterm has it; `None` for the terminal's own.
pub fn rgb(color: Color) -> Option<(u8, u8, u8)> {
    match color {
        Color::Rgb(r, g, b) => Some((r, g, b)),
        Color::Indexed(n) if n < 16 => Some(NAMED[usize::from(n)].2),
        Color::Indexed(n) if n >= 232 => {
            let level = 8 + (n - 232) * 10;
            Some((level, level, level))
        }
        Color::Indexed(n) => {
            let step = |place: u8| if place == 0 { 0 } else { 55 + place * 40 };
            let n = n - 16;
            Some((step(n / 36), step(n / 6 % 6), step(n % 6)))
        }
        named => NAMED.iter().find(|(_, color, _)| *color == named).map(|(.., rgb)| *rgb),
    }
}

fn nearest_name(color: Color) -> Color {
    let Color::Rgb(r, g, b) = color else { return color };
    let away = |(x, y, z): (u8, u8, u8)| {
        let square = |a: u8, b: u8| i32::from(a.abs_diff(b)).pow(2);
        // Weighted after how bright the eye sees each part.
        3 * square(r, x) + 6 * square(g, y) + square(b, z)
    };
    NAMED.iter().min_by_key(|(.., rgb)| away(*rgb)).map_or(color, |(_, color, _)| *color)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contrast(a: (u8, u8, u8), b: (u8, u8, u8)) -> f64 {
        let light = |(r, g, b): (u8, u8, u8)| {
            let part = |v: u8| {
                let v = f64::from(v) / 255.0;
                if v <= 0.03928 { v / 12.92 } else { ((v + 0.055) / 1.055).powf(2.4) }
            };
            0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b)
        };
        let (a, b) = (light(a) + 0.05, light(b) + 0.05);
        a.max(b) / a.min(b)
    }

    #[test]
    fn every_built_in_theme_names_every_role_and_reads_well_on_its_background() {
        for name in Theme::NAMES {
            let theme = Theme::named(name).unwrap();
            for role in Role::ALL {
                let (Some(rgb), true) = (theme.style(*role).fg.and_then(rgb), *role != Role::Rule) else {
                    continue;
                };
                let ground = match name {
                    "dark" => (24, 26, 31),
                    "light" => (255, 255, 255),
                    _ => continue,
                };
                let found = contrast(rgb, ground);
                assert!(found >= 4.5, "{name}: {} has contrast {found:.2}", role.name());
            }
        }
        for name in ["dark", "light", "high-contrast", "ansi", "none"] {
            let text = match name {
                "dark" => include_str!("../../assets/themes/dark.toml"),
                "light" => include_str!("../../assets/themes/light.toml"),
                "high-contrast" => include_str!("../../assets/themes/high-contrast.toml"),
                "ansi" => include_str!("../../assets/themes/ansi.toml"),
                _ => include_str!("../../assets/themes/none.toml"),
            };
            let document: toml_edit::DocumentMut = text.parse().unwrap();
            for role in Role::ALL {
                assert!(document.contains_key(role.name()), "{name} lacks {}", role.name());
            }
        }
    }

    #[test]
    fn without_colour_no_role_has_one_and_the_selection_still_shows() {
        let theme = Theme::choose(&ThemeChoice::Named("dark".into()), false, Depth::True, false).unwrap();
        for role in Role::ALL {
            assert_eq!((theme.style(*role).fg, theme.style(*role).bg), (None, None));
        }
        assert!(theme.style(Role::Selected).add_modifier.contains(Modifier::REVERSED));
    }

    #[test]
    fn a_theme_of_ones_own_overlays_its_base_and_tells_all_its_faults() {
        let own = ThemeChoice::Custom("base = \"light\"\naccent = \"bold #112233\"".into());
        let theme = Theme::choose(&own, true, Depth::True, false).unwrap();
        assert_eq!(theme.style(Role::Accent).fg, Some(Color::Rgb(0x11, 0x22, 0x33)));
        assert_eq!(theme.style(Role::Lamp), Theme::named("light").unwrap().style(Role::Lamp));
        let bad = ThemeChoice::Custom("acent = \"red\"\nlamp = \"bolt\"\nrule = 3".into());
        let error = Theme::choose(&bad, true, Depth::True, false).unwrap_err();
        assert_eq!(error.0.len(), 3, "{error}");
    }

    #[test]
    fn without_true_colour_only_names_are_used() {
        let light = ThemeChoice::Named("light".into());
        let theme = Theme::choose(&light, true, Depth::Sixteen, true).unwrap();
        for role in Role::ALL {
            assert!(!matches!(theme.style(*role).fg, Some(Color::Rgb(..))));
        }
    }
}
