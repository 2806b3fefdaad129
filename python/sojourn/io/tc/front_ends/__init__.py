"""Programs that configure `tc`, known by the contents of their configuration; `registry` lists them."""
