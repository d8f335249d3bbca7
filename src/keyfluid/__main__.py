"""python -m keyfluid"""

from keyfluid.cli.main import main

main()
