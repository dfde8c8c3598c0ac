"""Parts that several views are made of: labels, frames, bars, fields, plots, icons, the theme."""
