package cli

const cacheLong = `Sonde weaves a class once and keeps what came of it, with a description: for the same
class file, the same hooks and the same engine it is taken from the cache, in any
process. This shows what is kept.

The cache lies in the user's cache directory ($XDG_CACHE_HOME/sonde/woven, or
~/.cache/sonde/woven), for this user alone. It takes 256M at most: entries that were
not used for longest go. All of it can be removed at any time.

What is kept is code that goes into programs, so a directory or file that somebody
else could have written is refused. --cache-trust says whose are to be taken besides
one's own and root's; commands that weave have --cache-share, which lets others read.

All commands that put hooks into a JVM use it, and tell how many classes they wove and
how many they found. --cache DIR takes another directory, --no-cache none;
SONDE_CACHE=DIR and SONDE_CACHE=off say the same for all commands.`

const cacheShowLong = `Show a class as it was woven: which methods have hooks, which were left alone and why,
by which ids woven code names methods. It is named by its key, or the beginning of one
(sonde cache ls shows them), or by its class; of several entries of a class the one is
shown that was of use last.

--code      shows the woven code instead, each instruction with its offset
--original  shows what weaving has changed: from the class file, or that in the jar,
            directory or lib/modules, to the woven class. It must be the very file that
            was woven
--offsets   shows also which instructions now stand where
--trace     reads a stack trace or the like, from a file or - for the standard input,
            and writes it with the offsets that the original has, for frames of this
            class:
              com/acme/Order.pay(I)V @57          errors of the verifier
              j  com.acme.Order.pay(I)V+57        hs_err files
              com.acme.Order.pay(int) @bci=57     jhsdb jstack
            Line numbers are the original's in any case: weaving keeps them.

What --json writes is described in docs/formats/cache.md.`

const cacheVerifyLong = `Read every entry of the cache and check it: its checksum, that it is the entry of its
key, that nobody else could have written it. Entries are checked on every use as well,
and woven again where they are damaged; this tells how a disk is doing.

Exit code: 0 when all are whole, or the damaged ones were dropped; 1 on an error or
where some are damaged; 2 for a wrong command line.`

const cachePruneLong = `Remove entries, those first that were not used for longest, until the others take no
more than --to on disk; and what processes left unfinished that were killed. Without
--to only what is beyond the cache's bound goes.

It can be done while others use the cache.`
