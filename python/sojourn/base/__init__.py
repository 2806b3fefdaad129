"""Foundation of all other packages: errors, file input and output, units, progress, frames for pandas."""
