"""Web pages recorded once and replayed behind emulated links by mitmproxy, and a browser that loads them."""
