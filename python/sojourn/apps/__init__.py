"""Applications: the command line, the lab in a browser, environments for agents, exercises, web pages."""
