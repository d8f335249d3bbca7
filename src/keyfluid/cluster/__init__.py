"""Who computes where one machine is not enough: workers of a Dask cluster behind the interface of keyfluid/crew.py.

addresses.py     which addresses are allowed, and why not others
certificates.py  the certificate and the key that the processes of a cluster know each other by
machine.py       what decides the bits of a result beside the scene; workers must have the same
session.py       files by which a run and its workers exchange tasks and answers; only names go through the scheduler
at_work.py       what a worker does with a task
dask_crew.py     a crew of Dask workers
dask_cluster.py  a connection to a cluster, and the checks before it is given work
start.py         a cluster on this machine

Only files whose names begin with `dask_`, `at_work.py`, `certificates.py` and `start.py` need the extra `cluster`, and
they import it inside functions or are imported when somebody asks for a cluster.
"""
