//! Pure functions from runs to text: terminal, HTML, JSON, CSV, LaTeX, Markdown.
