//! Pure functions from runs to text: terminal, HTML, JSON, CSV, LaTeX, Markdown.

pub mod json;
pub mod live;
pub mod table;
pub mod terminal;
mod terminal_show;
pub use terminal_show::show;
