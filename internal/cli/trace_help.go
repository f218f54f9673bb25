package cli

const traceLong = `Trace transactions of a running JVM: what is called, when and for how long, from the
entry of a method to its exit, on all threads that work for it. Hooks are put into
the method and, --levels deep, into what it can call by the bytecode of loaded
classes; methods of the JDK and small ones that call nothing are not traced. When
as many as --limit are kept, or by --for or Ctrl-C, all is taken out again.

Each transaction is a line as it ends:
#         its number                     CALLS   traced in it; + if some had no room
WHEN      when it began                  ERR     of those, ended with an exception
DURATION  of the method itself           THREAD  in which it ran

Then the slowest (--show NUMBER, all, none) is drawn, time across and depth down:
█ own time of the method      ░ time in calls below that are drawn themselves
× 37  calls of one method inside one other, together in a line
◆     its hook acts only in a context, or on a condition
⇢     handed to another thread: executors, CompletableFuture, virtual threads

--slower-than, and conditions on $return, $exception and $elapsed, are decided when
the transaction ends: nothing of others is kept. Putting hooks in makes the JVM discard
compiled code, so calls are slow at first: with --slower-than or $elapsed, nothing is
kept, and --for does not begin, until the compilers are idle again (45 s at most). What hooks and clock take of each
call is measured in the JVM and taken off all times, but not of calls that are too
deep to be recorded: where a trace slows the program down, take fewer --levels.

--capture notes values at entry and exit of the method: up to four of each, 256
characters at most. What is named for a secret (password, token, card number, …)
is not read unless --allow names it, and taken out of texts that contain it.

A thread writes calls into a ring that Sonde empties. Where it is full calls are
counted only, and never wait: how many is told at the end, as are calls whose
condition failed and tasks of which it is not known whose they are.

` + contextLong + `

Files (-o) by their names:
.html                      a page with list and waterfalls, which needs no network
.json                      all that is known (docs/formats/trace.md)
.trace.json .perfetto.json Chrome's format: Perfetto, speedscope
.otlp.json                 OpenTelemetry's; --otlp sends the same to a receiver
.txt                       as the terminal shows it, each transaction drawn

Patterns are those of sonde instrument; a leading ! takes methods out.

Exit code: 0 when there is a transaction, 1 if none or on an error, 2 for a wrong
command line.`

const traceExamples = `  sonde trace 4711 com.acme.Shop.checkout
  sonde trace 4711 com.acme.Shop.checkout --slower-than 200ms --limit 5 -o slow.html
  sonde trace 4711 com.acme.Shop.checkout --when '$1.customer.tier == "gold"' --levels 6
  sonde trace 4711 com.acme.Pay.charge --within 'com.acme.Web.handle >> com.acme.Order.*'
  sonde trace 4711 com.acme.Shop.checkout --tag 'tenant=$1.tenant' --capture '$1.id' --capture '$return.total'
  sonde trace 4711 com.acme.Shop.checkout --sample 1/100 --for 1m --otlp http://localhost:4318
  sonde trace 4711 com.acme.Shop.checkout --json | jq .durationNanos`
