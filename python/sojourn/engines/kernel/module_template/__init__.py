"""Files of a module's folder."""
