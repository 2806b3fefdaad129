"""Import of routers' configurations: output of `tc`, commands of `tc`, and files of programs that run them."""
