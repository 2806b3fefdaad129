"""Real programs behind an emulated link: results from their logs, and scenarios run by them."""
