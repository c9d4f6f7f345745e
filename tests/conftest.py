"""For all tests."""

from hypothesis import settings

# How long an example takes says nothing on a machine that does other work as well. Who has chosen a profile keeps it.
if settings.get_current_profile_name() == "default":
    settings.register_profile("untimed", deadline=None)
    settings.load_profile("untimed")
