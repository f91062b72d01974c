//! HTTP/1.1 and HTTP/3 as sans-IO machines: client and server.
