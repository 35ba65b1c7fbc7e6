"""Imported first, by programs that somebody may want to stop before all is imported: Ctrl-C then ends them without a
traceback. common/run calls them by python3 -S, since what is in the packages' folders can take long to start.
stages.run_tool() lets Ctrl-C end what they have started, too."""

import _signal  # what signal is made of; that one takes a while to import
import sys

_signal.signal(_signal.SIGINT, _signal.SIG_DFL)
if sys.flags.no_site:
    import site

    site.main()
