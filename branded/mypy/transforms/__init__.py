"""The typing rules of `vmap`, derivatives, loops, collectives and tree functions."""
