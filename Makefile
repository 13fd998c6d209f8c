# Everything here works on a machine with Go and make; Postgres is found or
# fetched. `make` alone lists the targets.

# Set here and not by `go env -w`, so that every clone builds alike. Version
# control stamps are off because git refuses a clone that another user owns.
export GOFLAGS := -trimpath -buildvcs=false

# Vetting is left to lint, which does it once for all packages.
GO_TEST := go test -timeout=25m -vet=off
# Aliases are resolved: the generator takes one of several names of a type at random.
GQLGEN := GODEBUG=gotypesalias=0 go tool gqlgen generate
LINT    := go tool -modfile=internal/tools/go.mod golangci-lint

.DEFAULT_GOAL := help
.PHONY: help demo dev build console test test/race test/prices test/interop mutants mutants/named chaos lint format generate verify release bench bench/book bench/storm bench/compare book clean postgres

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z\/]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: build postgres ## play the whole story over HTTP, from quote to payout (KEEP=1 leaves the server running)
	@bin/parapet demo $(if $(KEEP),--keep)

dev: build postgres ## run a server for yourself, with tokens and curl lines (ARGS="--listen=…")
	@bin/parapet dev $(ARGS)

build: ## compile bin/parapet
	@echo "compiling bin/parapet: a minute or two the first time" >&2
	@go build -o bin/parapet ./cmd/parapet

test: postgres ## run every test; needs Go and Postgres only (FUZZ=60s fuzzes every target for so long)
	$(GO_TEST) ./...
	@$(if $(FUZZ),internal/tools/fuzz $(FUZZ))

test/race: postgres ## run every test under the race detector; needs a C compiler
	@command -v $${CC:-cc} >/dev/null || { echo "the race detector needs a C compiler: apt-get install gcc libc6-dev" >&2; exit 1; }
	CGO_ENABLED=1 $(GO_TEST) -race ./...

test/prices: ## compare the premiums of 20,000 random pairs of covers of each product: the larger cover never costs less (PAIRS=20000)
	go test -count=1 -timeout=60m -v -run='^TestMoreCoverNeverCostsLess$$' ./model/quoting/pricing -price-pairs=$(or $(PAIRS),20000)

test/interop: build ## run the checks by foreign tools; needs Node
	@internal/tools/interop

mutants: postgres ## judge 300 small faults in the code, chosen by SEED=1, by the tests that reach them (N=300, ARGS="-only=…"); hours the first time
	go -C internal/tools build -o ../../bin/mutants ./mutants
	bin/mutants -n=$(or $(N),300) -seed=$(or $(SEED),1) $(ARGS)

mutants/named: postgres ## check that the tests notice every fault of internal/tools/mutants/named.txt
	go -C internal/tools build -o ../../bin/mutants ./mutants
	bin/mutants -directed=internal/tools/mutants/named.txt

chaos: postgres ## kill what sends events fifty times during 5,000 changes, what pays two hundred times during 1,000 payouts and twenty times at each point of one, the database twenty, and what works other jobs twenty times; stop releases twenty times while payouts leave; hang the database five times; restore it from a backup; lose no event in ten minutes of commits in any order; report two hundred chains of payouts at random, and restore a database from a backup fifty times; pay through a bank that lies, forgets, closes for a week, moves, is suspended, and refuses falsely; decide 10,000 random policies by every road; kill processes and the database twenty times during a storm of 100,000 claims
	go test -count=1 -timeout=30m -v -run='^TestEventsSurviveKilledWorkers$$' ./cmd/parapet -kills=50 -changes=5000
	go test -count=1 -timeout=60m -v -run='^TestEachPayoutIsPaidOnceDespiteCrashes$$' ./cmd/parapet -payouts=1000 -money-kills=200 -restarts=20
	go test -count=1 -timeout=60m -v -run='^TestEachPayoutIsPaidOnceDespiteCrashes$$' ./cmd/parapet -payouts=1000 -money-kills=60 -orders-per-call=20
	go test -count=1 -timeout=60m -v -run='^TestHostileBankPaysEachPayoutOnce$$' ./cmd/parapet -hostile-payouts=200
	go test -count=1 -timeout=60m -v -run='^Test(BankThatMovedPaysEachPayoutOnce|BankClosedForAWeekPaysWhenItIsBack|OrderThatArrivesLateIsNotPaid|WorkerThatWakesLateIsNotPaidTwice|FalseRejectionsDoNotCauseDoublePayment|RefusedPayoutsMoveToTheNextAccount)$$' ./cmd/parapet -hostile-payouts=40
	go test -count=1 -timeout=60m -v -run='^TestReleaseStopSendsNothingToTheBank$$' ./cmd/parapet -stop-payouts=400 -stops=20
	go test -count=1 -timeout=30m -v -run='^Test(JobsOfAKilledWorkerAreRescued|PayoutsOfAKilledWorkerAreReleased)$$' ./cmd/parapet -worker-kills=20
	go test -count=1 -v -run='^Test(ReleaseSurvivesWorkerDeath|BatchReleaseSurvivesDeath|GroupReleaseSurvivesDeath)AtEveryStep$$' ./jobs -hits=20
	go test -count=1 -timeout=30m -v -run='^TestJobsResumeAfterAFailover$$' ./cmd/parapet -failovers=5
	go test -count=1 -timeout=60m -v -run='^Test(ArrivedMoneyBlocksAllReplacements|ReportIsImportedWhateverThePayoutState)$$' ./model/payouts/reconciliation -report-chains=200 -report-states=5000
	go test -count=1 -timeout=60m -v -run='^TestRestoredDatabasePaysNothingTwice$$' ./model/operations -restores=10
	go test -count=1 -timeout=30m -v -run='^TestRestoredDatabase' ./cmd/parapet -restored-payouts=48
	go test -count=1 -timeout=240m -v -run='^TestEveryRoadDecidesAlike$$' ./model/claims/adjudication -property-policies=10000 -property-slice=250 -property-seed=0
	go test -count=1 -timeout=60m -v -run='^TestStormSurvivesKills$$' ./cmd/parapet -kill-hits=100000 -storm-kills=20
	go test -count=1 -timeout=90m -v -run='^TestNoEventIsLostWhileManyCommitInAnyOrder$$' ./model/events -relay-for=10m

release: ## build the archives of a release into bin/release: the same bytes for the same commit (VERSION=1.2.3, PLATFORMS=linux/amd64)
	@internal/tools/release bin/release $(PLATFORMS)

lint: ## read the code for mistakes; the first run compiles the linter
	$(LINT) run ./...

format: ## format the code as lint wants it
	$(LINT) fmt ./...

generate: postgres ## write what is generated anew: the functions that encode records, the GraphQL server, the golden answers of a real story, the catalogue of events, the OpenAPI document and its examples, the program of the page /verify, the alarms as rules and as a dashboard, the documentation at /docs
	go test -count=1 -run='AppendersAreGenerated' ./model/wire ./model/receipts/receipt -update
	$(GQLGEN)
	go test -count=1 -run='^TestEveryDescriptionIsWrittenOnce$$' ./rest -update # the document embeds them
	go test -count=1 -run='^TestCommittedDocument$$' ./rest -update # the story is held against it
	go test -count=1 -run='^(TestGolden|TestEventCatalogue)$$' ./rest -update
	go test -count=1 -run='^TestCommittedDocument$$' ./rest -update
	internal/tools/verifypage
	go test -count=1 -run='^TestAlarmFilesFollowTheRunbook$$' ./cmd/parapet -update
	go test -count=1 ./docs -update

console: ## check and build the web console into console/dist; needs Node 20.19 or newer
	@internal/interop/install ../../console
	@cd console && npm run --silent check && npm run --silent build

verify: postgres ## check that the generated documents, go.mod and the house rules are as committed
	go test -count=1 -run='^(TestEveryDescriptionIsWrittenOnce|TestGolden|TestEventCatalogue|TestCommittedDocument|TestExamplesMatchTheirSchemas)$$' ./rest
	go test -count=1 -run='^TestAlarmFilesFollowTheRunbook$$' ./cmd/parapet
	go test -count=1 -run='AppendersAreGenerated' ./model/wire ./model/receipts/receipt
	go mod tidy -diff
	internal/tools/verifypage --check
	@graph() { find graph -name '*.go' | sort | xargs sha256sum; }; before=$$(graph); $(GQLGEN); \
		test "$$before" = "$$(graph)" || { echo "graph/ is not what gqlgen makes of the schema: see what it has just changed, and commit it" >&2; exit 1; }
	@! find graph/unbound -name '*.go' 2>/dev/null | grep . || { echo "graph/unbound holds types of the schema without a Go type: bind them in gqlgen.yml" >&2; exit 1; }
	$(GO_TEST) -count=1 ./internal/arch ./console ./docs

bench: postgres ## measure what must be fast, and print one table of figures, baselines and costs
	@internal/tools/benchmarks

bench/book: postgres ## measure lists, filters, the feed, exposure and invariants on the book that `make book` made
	go test -run='^$$' -bench=^BenchmarkBook -benchtime=1x -timeout=2h -v ./model ./model/payouts/controls

bench/storm: postgres ## run an earthquake that pays HITS of N policies through processes of the service, until every payout is released and its event delivered (N=20000, HITS=2000, REST=5m reads the memory again afterwards); N is at least 3.1 x HITS
	@internal/tools/storm $(or $(N),20000) $(or $(HITS),2000) $(or $(REST),0s)

bench/compare: postgres ## measure the benchmarks of BASE=revision and of this tree in turns (PACKAGES="./jobs", BENCH=., TURNS=9, LEAST=0.95)
	go -C internal/tools build -o ../../bin/compare ./compare
	bin/compare -base=$(BASE) -turns=$(or $(TURNS),9) -bench='$(or $(BENCH),^Benchmark(REST|Dashboard|Release|Delivery)$$)' -least=$(or $(LEAST),0) \
		$(or $(PACKAGES),./cmd/parapet ./graph ./jobs)

book: postgres ## make a database of a million policies in your cache folder, to measure on (POLICIES=1000, PARAPET_BOOK=folder)
	@internal/tools/book $(POLICIES)

clean: ## remove what was built
	rm -rf bin

postgres: # find the Postgres server, or fetch it
	@internal/tools/postgres
