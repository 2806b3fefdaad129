"""What everything else stands on: errors, reading and writing files, units, progress, frames for pandas."""
