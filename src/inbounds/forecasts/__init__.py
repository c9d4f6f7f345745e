"""How far off releases will be, before anything is spent: no data, only drafts."""
