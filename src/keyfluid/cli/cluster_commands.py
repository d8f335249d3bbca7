"""`keyfluid cluster`: a cluster on this machine, and certificates for one on several."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from keyfluid.cli.cluster_options import Certificates

app = typer.Typer(no_args_is_help=True, rich_markup_mode="markdown", help="Dask clusters for run, resume and wedge.")


@app.command()
def start(
    workers: Annotated[int, typer.Option(min=1, help="Worker processes, one thread each.")],
    port: Annotated[int, typer.Option(min=0, max=65535, help="Of the scheduler; 0: any that is free.")] = 0,
    certificates: Certificates = None,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Without TLS: every user of this machine can run programs as you.")
    ] = False,
) -> None:
    """Start a cluster on this machine, print its address and run until Ctrl-C."""
    from keyfluid.cluster.start import start as start_cluster

    start_cluster(workers, port, certificates, insecure)


@app.command()
def certificates(
    folder: Annotated[
        Path | None, typer.Argument(metavar="[DIR]", help="Where to write; default: where --cluster looks for them.")
    ] = None,
) -> None:
    """Make the certificate and the key of a cluster; copy both to each of its machines."""
    from keyfluid.cluster.certificates import CERTIFICATE, KEY, certificates_folder, make_certificates

    place = certificates_folder(folder)
    make_certificates(place)
    print(place / CERTIFICATE)
    print(place / KEY)
