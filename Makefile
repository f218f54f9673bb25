# `make` lists the targets. `make test` and `make demo` set up a fresh Debian
# machine by themselves: .ci/setup installs what is missing and says so.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

GO ?= go
FUZZTIME ?= 30s
# How often `make soak` starts each JDK while another user tries to read its ticket (as root).
STARTS ?= 100
# Tests that start JVMs wait for them much of the time, so more of them run at once than there are processors.
SHARE := -p 4 -parallel 4
# go test starts packages in this order: the longest go first, so that they do not run alone at the end.
PACKAGES := ./test/live ./internal/cli ./test/walk ./internal/report/html ./test/tenants ./...
GOLANGCI_LINT := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.12.2

# Nothing here needs C, and what ships has none: then everything is compiled once. Without paths in the
# results, another clone does not compile it again.
export CGO_ENABLED := 0
export GOFLAGS := $(strip $(shell $(GO) env GOFLAGS 2>/dev/null) -trimpath)

# A toolchain that .ci/setup unpacked is there only because no other would do.
export PATH := $(CURDIR)/.tools/go/bin:$(PATH)

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' Makefile

.PHONY: setup
setup:
	@.ci/setup go jdk

.PHONY: build
build: setup ## build bin/sonde, which needs no library
	@$(GO) list -export ./... >/dev/null # compiles without linking
	@$(GO) build -o bin/sonde ./cmd/sonde

.PHONY: format
format: setup ## fail on files that gofmt would change
	@unformatted=$$(gofmt -l $$($(GO) list -f '{{.Dir}}' ./...)); \
	if [ -n "$$unformatted" ]; then \
		printf 'not gofmt-clean (run gofmt -w on them):\n%s\n' "$$unformatted"; exit 1; \
	fi

.PHONY: vet
vet: setup
	@$(GO) vet ./...

.PHONY: test
test: build format vet ## build, vet, format and a representative part of every test (make soak runs all of it)
	@.ci/setup live chromium
	SONDE_BINARY=$(CURDIR)/bin/sonde $(GO) test -count=1 -vet=off -ldflags=-w -timeout 25m $(SHARE) $(PACKAGES)

.PHONY: lint
lint: setup ## run the linters of .golangci.yml
	$(GO) run $(GOLANGCI_LINT) run ./...

.PHONY: check
check: test lint generate agent ## test, lint, rebuild what is committed: the tree must be clean
	@dirty=$$(git status --porcelain); \
	if [ -n "$$dirty" ]; then \
		printf 'the tree must be clean, but:\n%s\n' "$$dirty"; exit 1; \
	fi

.PHONY: identity
identity: setup ## every class of every JDK and jar here comes back byte-identical
	@.ci/setup jars
	SONDE_CORPUS=full $(GO) test -count=1 -timeout 60m -v -run Corpus ./test/identity ./classfile/...

.PHONY: matrix
matrix: build ## the main commands on all JDKs with many of their options, as tables; weave and verify every class, run real programs
	@.ci/setup jars jres jdks
	$(GO) run ./bench/matrix -write
	SONDE_MATRIX=1 $(GO) test -count=1 -timeout 180m -v ./test/matrix/... ./test/realprograms/...

.PHONY: bench
bench: setup ## the engine side by side with ASM, in one run
	@.ci/setup asm
	$(GO) run ./bench/engine -write

.PHONY: bench-live
bench-live: setup ## what hooks cost, what weaving costs a running JVM, and what is left after undo
	$(GO) run ./bench/overhead -write
	$(GO) run ./bench/redefine -write
	$(GO) run ./bench/undo -write

.PHONY: bench-walk
bench-walk: setup ## what a walk costs H2 and a program with known ways, compared with hooks in everything; how fast recordings are read
	@.ci/setup live
	$(GO) run ./bench/walk -write
	$(GO) run ./bench/lag -write
	$(GO) test -run '^$$' -bench . -benchtime 3x ./internal/jvm/jfr

.PHONY: bench-cache
bench-cache: setup ## what finding a class in the cache costs, beside weaving it
	@.ci/setup live
	$(GO) run ./bench/cache -write

.PHONY: bench-observe
bench-observe: setup ## whether probes that observation proposes keep to their budget, and what they cover
	@.ci/setup live
	$(GO) run ./bench/observe -write

.PHONY: bench-context
bench-context: setup ## what sequences, conditions, tags and hand-offs cost a call, compared with reflection and an interpreter
	$(GO) run ./bench/context -write

.PHONY: bench-profile
bench-profile: setup ## whether profiled times are true, and what profiles cost, compared with VisualVM's engine
	@.ci/setup live visualvm
	$(GO) run ./bench/truth -write
	$(GO) run ./bench/profile -write

.PHONY: bench-startup
bench-startup: setup ## what a pack adds to the start of Tomcat and JRuby, compared with weaving by ASM at load
	@.ci/setup live asm jruby
	$(GO) run ./bench/startup -write

.PHONY: bench-see
bench-see: setup ## whether the kernel's samples agree with async-profiler's, and what they cost H2
	@.ci/setup live jruby asyncprofiler
	$(GO) run ./bench/see -write

.PHONY: bench-undisturbed
bench-undisturbed: setup ## whether results describe programs as they run without Sonde
	@.ci/setup live jruby
	$(GO) run ./bench/undisturbed -write

.PHONY: drill
drill: setup ## whether sonde drill finds the causes of known problems, within a minute and its budget
	@.ci/setup live
	$(GO) run ./bench/drill -write

.PHONY: bench-budget
bench-budget: setup ## whether commands keep their budget in a program that calls tiny methods very often
	@.ci/setup live
	$(GO) run ./bench/budget -write

.PHONY: bench-calls
bench-calls: setup ## what sonde calls costs Tomcat and Spring Boot, beside OpenTelemetry's agent
	@.ci/setup shops otel
	$(GO) run ./bench/calls -write

.PHONY: bench-floor
bench-floor: setup ## how slow H2 becomes if every method has a hook, beside the least that such hooks can do
	@.ci/setup live
	$(GO) run ./bench/floor -write

.PHONY: fuzz
fuzz: setup ## every fuzz target in turn, FUZZTIME=30s each, and a table of what they did
	@GO='$(GO)' .ci/fuzz $(FUZZTIME)

.PHONY: soak
soak: setup ## all repetitions and combinations of the tests, of which `make test` runs a part; takes an hour (STARTS=100)
	@.ci/setup live calls shells chromium
	SONDE_SOAK=$(STARTS) $(GO) test -count=1 -timeout 120m $(SHARE) $(PACKAGES)

# How long `make torture` runs, its seed, one life of it to repeat, or the number of cycles instead.
TIME ?= 10m
SEED ?=
LIFE ?=
CYCLES ?=

.PHONY: torture
torture: setup ## users, kills, stops, full disks and other agents against programs on all JDKs, as root (TIME=10m SEED= LIFE=, or CYCLES=10000)
	@.ci/setup live jars jdks asyncprofiler otel
ifeq ($(CYCLES),)
	SONDE_TORTURE=$(TIME) SONDE_SEED=$(SEED) SONDE_LIFE=$(LIFE) $(GO) test -count=1 -timeout 0 -v -run TestTorture ./test/torture
else
	SONDE_CYCLES=$(CYCLES) $(GO) test -count=1 -timeout 0 -v -run TestCycles ./test/torture
endif

.PHONY: agent
agent: setup ## rebuild the jar that enters the target JVM (committed, reproducible)
	$(GO) run ./agent/build

.PHONY: generate
generate: setup ## rebuild generated tables and test data (committed)
	$(GO) generate ./...

.PHONY: show-trace
show-trace: setup ## open traces in Perfetto's processor and in the OpenTelemetry Collector
	@.ci/setup live
	@GO='$(GO)' test/tenants/show

.PHONY: formats
formats: setup ## open every format that Sonde writes in programs of others, and compare their numbers with Sonde's JSON
	@.ci/setup chromium
	@GO='$(GO)' test/formats/show

.PHONY: calls
calls: setup ## whether sonde calls agrees with the access logs of Tomcat and Spring Boot and the statement log of PostgreSQL, under load, as root
	@.ci/setup shops
	SONDE_CALLS=1 $(GO) test -count=1 -v -timeout 30m ./test/calls

.PHONY: client
client: setup ## generate a Python client of the service from its OpenAPI document, and measure a JVM with it
	SONDE_CLIENT=1 $(GO) test -count=1 -v ./test/client

.PHONY: demo
demo: setup ## find out why a running shop's checkout is slow for some customers
	@.ci/setup h2
	@GO='$(GO)' demo/run

.PHONY: tutorial
tutorial: build ## run the commands of docs/tutorial.md in order, and check what they print
	@.ci/setup h2
	SONDE_TUTORIAL=1 $(GO) test -count=1 -v -timeout 20m -run Tutorial ./test/demo

.PHONY: containers
containers: build ## measure a JVM inside a container that has nothing else, and from another container, as root
	SONDE_CONTAINERS=1 $(GO) test -count=1 -v -timeout 20m ./test/containers

.PHONY: release
release: setup ## build what users install into dist/: static binaries, Debian packages, checksums
	@.ci/release

.PHONY: count
count: ## lines and files of production code by group, of tests, benchmarks and Java
	@.ci/count

.PHONY: clean
clean: ## remove what was built
	rm -rf bin build
