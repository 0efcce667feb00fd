"""HTTP clients for `watersmeet serve`, with the methods of `Engine`."""
