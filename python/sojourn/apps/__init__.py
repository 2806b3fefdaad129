"""Programs over all the rest: the command line, the lab in a browser, environments for agents, exercises, web pages."""
