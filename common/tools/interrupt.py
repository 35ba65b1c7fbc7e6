"""Imported first, by programs that somebody may want to stop before all is imported: Ctrl-C then ends them without a
traceback. common/run starts them with SIGINT blocked, so that it waits while Python itself starts, and by python3 -S,
since what is in the packages' folders can take long. stages.run_tool() lets Ctrl-C end what they have started, too."""

import _signal  # what signal is made of; that one takes a while to import
import sys

_signal.signal(_signal.SIGINT, _signal.SIG_DFL)
_signal.pthread_sigmask(_signal.SIG_UNBLOCK, [_signal.SIGINT])
if sys.flags.no_site:
    import site

    site.main()
