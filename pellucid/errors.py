"""What goes wrong in a way that the user can mend: the message names the place, the value, the reason and the
remedy."""


class PellucidError(ValueError):
    """Something failed that the user can mend; the command line prints the message alone and exits with
    `exit_code`."""

    exit_code = 1


class UsageError(PellucidError):
    """A setting or an argument is wrong."""

    exit_code = 2
