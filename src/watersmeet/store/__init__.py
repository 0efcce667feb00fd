"""Where is it kept? One folder for each kind of place."""
