"""The web service: REST, pages, accounts, the database and the queue's sending side. Never imports torch."""

from importlib.metadata import PackageNotFoundError, version

try:
    VERSION = version("warpgrade")
except PackageNotFoundError:  # run from a source tree that was never installed
    VERSION = "0+source"
