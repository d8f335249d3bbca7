"""Options of commands that may use a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from keyfluid.cluster.dask_cluster import Cluster

ClusterAddress = Annotated[
    str | None,
    typer.Option("--cluster", metavar="ADDRESS", help="Compute on a Dask cluster, such as tls://127.0.0.1:8786."),
]
Certificates = Annotated[
    Path | None,
    typer.Option("--certificates", metavar="DIR", help="Where the cluster's certificate is; see cluster certificates."),
]
Insecure = Annotated[
    bool,
    typer.Option("--insecure", help="Allow tcp:// beyond this machine: anyone who reaches it can run programs as you."),
]


@contextmanager
def maybe_cluster(address: str | None, certificates: Path | None, insecure: bool) -> Iterator[Cluster | None]:
    """The cluster at an address, if one is given."""
    if address is None:
        yield None
        return
    from keyfluid.cluster.dask_cluster import connected

    with connected(address, certificates, insecure) as cluster:
        yield cluster
