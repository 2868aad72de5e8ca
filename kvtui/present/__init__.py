"""Analysis to view models and report text. All wording lives here. Pure."""
