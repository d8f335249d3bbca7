"""`keyfluid`: commands and error handling. Everything heavy is imported inside the command that needs it.

Exit codes: 0 done; 1 a check or a variant of a wedge failed; 2 the scene, the command, the folder or the cluster is at
fault (one line each on stderr); 130 stopped by Ctrl-C or a termination signal, the run saved.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import typer

from keyfluid.cli import (
    check_command,
    cluster_commands,
    farm_command,
    folder_commands,
    run_commands,
    scene_commands,
    studio_command,
    upres_command,
    wedge_command,
)
from keyfluid.errors import KeyfluidError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",  # the default would take [control] in a help text for markup, and leave it out
    help="Directs smoke and liquid into shapes: keyframes in, a real fluid simulation out.",
)


def _version(wanted: bool) -> None:
    if wanted:
        from keyfluid import __version__

        print(__version__)
        raise typer.Exit


@app.callback()
def _top(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Show the version."),
) -> None:
    pass


COMMANDS: tuple[Callable[..., None], ...] = (
    run_commands.run, run_commands.resume, run_commands.gallery, wedge_command.wedge, run_commands.demo,
    upres_command.upres,
    scene_commands.new, folder_commands.show, folder_commands.render, folder_commands.export,
    folder_commands.tidy, farm_command.farm, studio_command.studio,
    check_command.check, scene_commands.schema,
)  # fmt: skip
for command in COMMANDS:
    app.command()(command)
app.add_typer(cluster_commands.app, name="cluster")


def main() -> None:
    """The console script."""
    try:
        app(args=with_preview_value(sys.argv[1:]))
    except KeyfluidError as error:
        for line in str(error).splitlines():
            print(f"keyfluid: {line}", file=sys.stderr)
        sys.exit(2)
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            sys.stderr.close()
            sys.exit(0)
        print(f"keyfluid: {error.filename or 'a file'}: {error.strerror or error}", file=sys.stderr)
        sys.exit(2)
    except MemoryError:
        print("keyfluid: out of memory; lower domain.resolution or try --preview", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)


def with_preview_value(arguments: list[str]) -> list[str]:
    """`--preview` alone means `--preview 0`, which the command takes as half the scene's resolution."""
    full = []
    for place, word in enumerate(arguments):
        full.append(word)
        following = arguments[place + 1] if place + 1 < len(arguments) else ""
        if word == "--preview" and not following.isdecimal():
            full.append("0")
    return full
