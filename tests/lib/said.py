"""said.py - what a peer says on a socket, for tests."""


def everything_cut(s):
    """All that comes until the end, and whether that was a reset."""
    data = b""
    try:
        while more := s.recv(65536):
            data += more
    except ConnectionResetError:
        return data, True
    return data, False


def everything(s):
    """All that comes until the end, whatever the end is."""
    return everything_cut(s)[0]
