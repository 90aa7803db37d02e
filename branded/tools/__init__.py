"""Tools for users: `profile`, `memory`, and the loading of user files."""
