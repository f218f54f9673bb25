package cli

const applyLong = `Have a JVM watched as a file of probes says: which methods, where and when, how
much of each call, and until when. What differs between that and what is applied
is shown first, then changed, and nothing else is touched: applying a file again
changes nothing.

  + probe checkout: methods com.acme.Shop.checkout, level time
  ~ probe dao: level count → time
  - probe old

The first sonde apply of a JVM holds it: it stays, shows what is measured, and
takes all of it out when it ends, by Ctrl-C, --for, sonde apply --end, sonde undo,
or when every probe has ended. A later one hands its file to the first and is
done. With --background the first goes on without a terminal; sonde apply PID
shows how it stands, sonde save PID writes what is applied.

CALLS      calls the probe acted on
CALLS/S    since the table was last drawn; in the final table, over all
MEAN, P99  of calls that have ended, where the level is time or more
THREW      calls that ended with an exception
UNDECIDED  calls whose condition could not be decided, which counts as no
WHERE      the sequence that held, and tags or callers that results are told by

Of probes of level trace or capture the latest --keep transactions are kept; at
the end -o writes them, else the slowest is drawn.

The file is YAML. Its schema is in docs/formats/probes.md; errors are told all at
once, with line and remedy:

  version: 1
  tags:
    - name: tenant
      value: $1.tenant
      at: com.acme.web.Handler.handle
  probes:
    - name: checkout
      methods: com.acme.Shop.checkout
      within: com.acme.web.Handler.handle >> com.acme.Cart.*
      when: $1.total > 100 && tx.tenant == "acme"
      level: time            # count, time, trace, capture
      group-by: tenant
      for: 10m
  weave:                     # which classes get hooks when; the first rule counts
    - classes: com.acme.gen.**
      when: never            # static, load, dynamic, never

On a terminal it asks before something is changed, unless --yes.

Exit code: 0 when the set is applied, 1 on an error, 2 for a wrong command line
or file.`

const applyExamples = `  sonde apply 4711 -f probes.yaml --dry-run
  sonde apply 4711 -f probes.yaml
  sonde apply 4711 -f probes.yaml --background --for 1h
  sonde apply 4711 -f probes.yaml --for 1m -o slow.html
  sonde apply 4711
  sonde save 4711 -o probes.yaml
  sonde apply 4711 --end`
