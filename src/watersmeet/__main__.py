"""`python -m watersmeet`."""

from watersmeet.face.cli.main import main

main()
