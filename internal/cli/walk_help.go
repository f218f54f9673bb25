package cli

const walkLong = `Find the methods in which a running program spends its time, and climb from each to
who causes that: level by level, with a hook in a few methods at a time.

Hot spots are found by sampling, with nothing changed in the program: the flight
recorder is started over the attach socket, as sonde hot does, and left alone where
somebody else records. A method is a hot spot from --hot on; where none is, the --top
hottest are taken.

On JDK 17 to 20 starting the recorder makes HotSpot discard all compiled code, so there
Sonde takes thread dumps. These do not say which overload of a method runs, so no hook
is put in and all shares are by samples; --recorder starts the recorder all the same.

The climb begins with a hook in the hot method that identifies who calls it. Then its
callers are measured for a --period, calls and time by caller; then theirs, until a
thread's entry, a package of --until, or --levels. What the samples' stacks show of
the way up is hooked in one batch, switched off, so that climbing is switching: the
hooks behind go off when the next go on, never more than --hooks at once, and within
the --budget. Only a caller that no stack had shown needs another batch. A hot method
that is native, or whose class is too central to be redefined cheaply, has no hook:
the climb begins one level up, and says so. At the end all hooks go out in one batch.

A share is the part of the hot spot's time that came a way; how it is known stands
beside it: by hooks, by samples, or reckoned from both. The report begins with the
cause: the lowest method of the program itself, not of the JDK, on the main way.

With --duration it goes on looking: hot spots that cool down are dropped, new ones
join and are climbed from. Ctrl-C ends it at any time; what was found stays.

A period: '1000 calls' of each method, or 5s; --period '500 calls' --period 2s is
whichever comes first. A time alone is a time; a number of calls alone is waited for
a minute at most.

The report is written at the end; -o writes it to files as well, in the format their
names say: .html to look at in a browser, with the climb drawn over time, .pb.gz for
go tool pprof, .json for programs (docs/formats/climb.md), .txt.

Exit code: 0 when a hot spot was found, 1 on an error or when there was none, 2 for a
wrong command line.`
