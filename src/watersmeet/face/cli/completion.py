"""`watersmeet completion`."""

from __future__ import annotations

import click

from watersmeet.face.cli.common import common, print_json

NAMES = ("watersmeet", "wm")
SHELLS = ("bash", "zsh", "fish")


@click.command("completion", epilog="Example: watersmeet completion bash >> ~/.bashrc")
@click.argument("shell", metavar="SHELL", type=click.Choice(SHELLS))
@common
def completion_command(shell: str, index: str, as_json: bool, quiet: bool) -> None:
    """Print the script with which SHELL (bash, zsh or fish) completes commands, flags, modes and recipes.

    For zsh append it to ~/.zshrc after compinit; for fish write it to ~/.config/fish/completions/watersmeet.fish.
    """
    from click.shell_completion import get_completion_class

    from watersmeet.face.cli.main import cli

    made = get_completion_class(shell)
    if made is None:
        raise click.UsageError(f"no completion for {shell}")
    script = "\n".join(made(cli, {}, name, f"_{name.upper()}_COMPLETE").source().strip("\n") for name in NAMES)
    if as_json:
        print_json({"shell": shell, "script": script})
    else:
        print(script)
