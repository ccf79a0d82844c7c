# Ratchet. `make` alone prints this help.
.DEFAULT_GOAL := help
SHELL := /bin/bash
CACHE := $(CURDIR)/.cache
TOOLS := $(CACHE)/bin
VULNDB := $(CURDIR)/../shared/data/vulndb

GOLANGCI_LINT := $(TOOLS)/golangci-lint-2.15.0
GOVULNCHECK := $(TOOLS)/govulncheck-1.1.4
SCHEMATHESIS := $(CACHE)/schemathesis-4.32.5/bin/schemathesis
DEPLOY_CHECKS := $(CACHE)/deploy-checks-1

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

##@ Use

.PHONY: demo
demo: build ## run 1,000 orders through all parts and check the result
	./bin/ratchet demo

.PHONY: dev
dev: build ## run everything here until Ctrl-C: engine, workers, poller
	./bin/ratchet dev

.PHONY: build
build: ## build bin/ratchet
	go build -o bin/ratchet ./cmd/ratchet

.PHONY: asl
asl: ## write the Retry and Catch of statemachine.asl.json as the table of errors says
	go test ./activities/steps -count=1 -run TestTheStateMachineIsGenerated -update

.PHONY: reference
reference: ## write docs/reference/configuration.md and docs/reference/cli.md as the code says
	go test ./cmd/cli -count=1 -run 'Reference$$' -update

.PHONY: errors
errors: ## write docs/reference/errors.md as the code says
	go test ./tests/system -count=1 -run ErrorsPage -args -update

##@ Ship

# A static program, with no path of this machine in it. gRPC, of which only the codes of OTLP are used, leaves out its pages
# for browsers, with which every method would stay in the program (docs/internals/dependencies.md).
STATIC := CGO_ENABLED=0 GOOS=linux go build -buildvcs=auto -trimpath -tags grpcnotrace -ldflags '-s -w -buildid='
ARCH ?= amd64

.PHONY: image
image: ## write bin/ratchet-image-ARCH.tar, a container image as an OCI archive (ARCH=arm64 for the other one)
	GOARCH=$(ARCH) $(STATIC) -o bin/static-$(ARCH)/ratchet ./cmd/ratchet
	go run -C deploy/build ./image --binary $(CURDIR)/bin/static-$(ARCH)/ratchet --arch $(ARCH) \
	  --revision "$$(git rev-parse HEAD 2>/dev/null)" --out $(CURDIR)/bin/ratchet-image-$(ARCH).tar

.PHONY: release
release: ## write dist/: an archive for each of linux and darwin, amd64 and arm64, with licenses, its SBOM and image, and SHA256SUMS (VERSION=v1.0.0: of that tag)
	go run -C deploy/build ./release --module $(CURDIR) --out $(CURDIR)/dist $(if $(VERSION),--version $(VERSION))

.PHONY: image-check
image-check: ## build the image and an archive twice, compare, unpack and start them
	go vet -C deploy/build ./...
	go test -C deploy/build -count=1 ./...
	go test -tags image -count=1 -timeout 30m ./tests/image

##@ Test

# Tests have the flags of the programs that are shipped, and of the tutorial, so that all share what is compiled.
# `go vet` runs once, and not again for each package. With this garbage collector the compiler and the tests take
# less time.
test vet promises: export CGO_ENABLED = 0
test vet promises: export GOFLAGS += -trimpath -vet=off
test vet promises: export GOGC = 400

# The engines of the tests sync every write. In memory, where there is enough, that costs nothing. (testing.T.TempDir looks at
# GOTMPDIR first, which therefore is not set to a disk here.)
IN_MEMORY = free=$$(df --output=avail -k /dev/shm 2>/dev/null | tail -1); \
	if [ "$${free:-0}" -gt $$((6 << 20)) ]; then \
	  memory=$$(mktemp -d /dev/shm/ratchet-XXXXXX); trap 'rm -rf "$$memory"' EXIT; \
	  export TMPDIR="$$memory"; unset GOTMPDIR; fi

.PHONY: test
test: vet ## run go vet, and every test that needs only Go; ARGS are for go test, such as -count=1
	@echo go test -p 4 -timeout 30m $(ARGS) ./...; $(IN_MEMORY); go test -p 4 -timeout 30m $(ARGS) ./...

# The packages that start goroutines or lock memory, which the code of the others does not. Programs
# that tests build have no detector. `make long` has all packages.
CONCURRENT = find . -name '*.go' ! -name '*_test.go' ! -path './.*/*' ! -path '*/testdata/*' ! -path './cmd/bench/*' \
	! -path './cmd/cli/*' ! -path './deploy/*' ! -path './examples/*' ! -path './tests/*' ! -path './internal/tools/*' | \
	xargs grep -lE '^\s*go |sync\.(Mutex|RWMutex|Map|Pool|Cond|WaitGroup|Once\b)|"sync/atomic"|errgroup|\.Go\(func|AfterFunc' | \
	xargs -n1 dirname | sort -u | while read -r d; do if ls $$d/*_test.go >/dev/null 2>&1; then echo $$d; fi; done

# Those of them whose tests have virtual time. The timers of a synctest bubble share one context of the
# detector, also while two processors run them, and then the detector crashes: see docs/internals/testing.md
# and https://go.dev/issue/78156. With one processor they never run at once, and races are still found.
VIRTUAL = $(CONCURRENT) | while read -r d; do if grep -qs '"testing/synctest"' $$d/*_test.go; then echo $$d; fi; done
REAL = $(CONCURRENT) | while read -r d; do if ! grep -qs '"testing/synctest"' $$d/*_test.go; then echo $$d; fi; done

# Packages most of whose tests have one caller, which take much time under the detector and cannot race: of these
# only the tests with more goroutines run there, as internal/tools/raced finds them.
ONE_CALLER = ./api ./api/auth ./embedded ./embedded/internal/dynamodb ./embedded/internal/expression \
	./embedded/internal/stepfunctions/jsonata ./embedded/internal/store ./internal/due ./notify \
	./once ./once/actions ./once/ledger ./operate/executions ./operate/inspect ./operate/telemetry \
	./queues ./server ./server/ratchettest ./shipping/sandbox ./transitions ./transitions/lists \
	./transitions/scheduled ./transitions/timers

# The tests of these packages are about memory that the packages below them share.
SHARED = ./embedded/internal/dynamodb ./tests/linearizability

.PHONY: race
race: ## run the short tests with goroutines, of the packages that share memory among them, under the race detector
	@raced() { CGO_ENABLED=0 go run ./internal/tools/raced -one-caller "$(ONE_CALLER)" "$$@"; }; \
	virtual=$$($(VIRTUAL)); real="$$($(REAL)) $(SHARED)"; \
	some=$$(raced $$virtual) || exit 1; \
	echo "go test -p 4 -timeout 30m -race -short -cpu 1 -run '$${some:0:60}...'"; \
	go test -p 4 -timeout 30m -race -short -cpu 1 -run "$$some" $$virtual || exit 1; \
	some=$$(raced $$real) || exit 1; \
	echo "go test -p 4 -timeout 30m -race -short -run '$${some:0:60}...'"; \
	go test -p 4 -timeout 30m -race -short -run "$$some" $$real

.PHONY: check
check: format vet lint race vuln ## format, vet, lint, race, vulnerabilities

# The calls that conformance generates follow from this seed, so that a change never meets a
# difference that is not its own. SEED=0 takes another one each time.
SEED ?= 1

.PHONY: conformance
conformance: ## compare the engine with the vendor's DynamoDB Local (needs Java 17 and Maven)
	go test -tags conformance -count=1 ./tests/conformance -rapid.seed=$(SEED)

# The long run can be interrupted and started again: RESUME keeps how far it is.
CALLS ?= 2000000
RESUME ?= $(CACHE)/conformance.json

.PHONY: conformance-long
conformance-long: ## compare CALLS generated calls (default 2 million) from SEED on, in as many runs as it takes
	@mkdir -p $(dir $(RESUME))
	go test -tags conformance -count=1 -timeout 24h -v ./tests/conformance -run TestGenerated -rapid.seed=$(SEED) -args -calls $(CALLS) -resume $(RESUME)

.PHONY: browser
browser: ## use Chromium: pages of other origins get nothing from any listener; acts in the console by mouse and keyboard (Debian; installs chromium-headless-shell)
	@command -v chromium-headless-shell >/dev/null || { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium-headless-shell; } || \
	  { echo "make browser: chromium-headless-shell is missing and cannot be installed; NOTHING was tried" >&2; exit 1; }
	go test -tags browser -count=1 -timeout 30m -v ./tests/browser

.PHONY: screenshots
screenshots: ## make pictures of the console's pages, three widths, light and dark, in SCREENSHOTS (default: a new directory), and those of README and docs
	@dir="$${SCREENSHOTS:-$$(mktemp -d)}"; mkdir -p "$$dir"; \
	go test -tags browser -count=1 -timeout 30m ./tests/browser -run 'TestEveryPageFitsAndCanBeUsed|TestAnOrderIsWatchedToItsEnd|TestThePagesAreThoseOfTheirDocument' \
	  -args -screenshots "$$dir" -pictures $(CURDIR)/docs/pictures && echo "$$dir"

.PHONY: sdks
sdks: ## try `ratchet dev` from other languages: SDKs, receivers of webhooks, generated clients (needs Python 3, Node, Java, Maven and their registries)
	go test -tags sdks -count=1 ./tests/sdks

.PHONY: judges
judges: ## run the tests of client libraries on the engine, and print their counts (needs Node, the Go module proxy and npm)
	go test -tags judges -count=1 -timeout 60m -v ./tests/judges

.PHONY: upgrade-check
upgrade-check: ## run processes of this version and of an earlier commit over the same tables (needs the history of git)
	@if grep -q '^const earlier = ""' tests/upgrade/earlier_test.go; then \
	  echo "upgrade-check: two versions were NOT tried beside each other: \`earlier\` in tests/upgrade names no commit (docs/operate/upgrades.md)" >&2; \
	  else go test -tags upgrade -count=1 -timeout 15m ./tests/upgrade; fi

.PHONY: contract
contract: build $(SCHEMATHESIS) ## hold the HTTP API against its OpenAPI document with Schemathesis (needs Python 3 and PyPI)
	tests/contract/run.sh $(CURDIR)/bin/ratchet $(SCHEMATHESIS)

.PHONY: alerts
alerts: ## check the alert rules and run their tests (needs promtool: Debian's package prometheus)
	promtool check rules deploy/prometheus/alerts.yml
	promtool test rules deploy/prometheus/alerts_test.yml

.PHONY: deploy-check
deploy-check: $(DEPLOY_CHECKS) ## check the templates with cfn-lint and checkov (needs Python 3 and PyPI), and with terraform fmt where there is Terraform
	$(DEPLOY_CHECKS)/bin/cfn-lint deploy/cloudformation/*.yaml examples/lambda/template.yaml examples/recurring/template.yaml
	$(DEPLOY_CHECKS)/bin/checkov --skip-download --config-file deploy/checkov.yaml --directory deploy
	@if command -v terraform >/dev/null; then terraform fmt -check -diff deploy/terraform; \
	  else echo "Terraform is not installed; TestTerraformIsFormatted does what terraform fmt -check does"; fi

# aws-check and aws-check-local with your own program: PROGRAM=../loan/loan CHECK='-create "..." -end CLOSED'.
AWSCHECK = go run ./internal/tools/awscheck -program $(or $(PROGRAM),bin/ratchet) $(CHECK)

.PHONY: aws-check
aws-check: $(if $(PROGRAM),,build) ## deploy the shop, or PROGRAM, in your AWS account under a random prefix, run 20 orders with a kill, take everything away (asks for the account's number)
	$(AWSCHECK)

.PHONY: aws-check-local
aws-check-local: $(if $(PROGRAM),,build) ## the same on LocalStack and DynamoDB Local, without an account (needs Python 3.13, Java 17, Maven and their registries)
	$(AWSCHECK) -local $(CACHE)

.PHONY: model
model: ## check the protocol's model exhaustively (needs spin and a C compiler)
	docs/internals/model/check.sh

# Without a bound, the fuzzer spends up to a minute on making one input shorter, and executes nothing else.
.PHONY: fuzz
fuzz: ## fuzz each parser for FUZZTIME (default 20s)
	@set -e; for pkg in $$(go list ./...); do \
	  for target in $$(go test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
	    echo "$$pkg $$target"; go test -run '^$$' -fuzz "^$$target$$" -fuzztime $${FUZZTIME:-20s} -fuzzminimizetime 100x $$pkg; done; done

FLEET_ROUNDS ?= 1
FLEET_ORDERS ?= 24

.PHONY: fleet
fleet: ## run the processes of a fleet in network namespaces through partitions and kills (sizes: FLEET_ROUNDS FLEET_ORDERS)
	go test ./tests/fleet -count=1 -timeout 10m -v -args -fleet -rounds=$(FLEET_ROUNDS) -orders=$(FLEET_ORDERS)

# Sizes of `make long`, several hours on 2 cores; make long KILLS=100 changes one.
KILLS ?= 500
LOAD ?= 4
CUTS ?= 1000
ROUNDS ?= 2000
BOMBS ?= 100
CRASHES ?= 10
WORKERKILLS ?= 100
OPS ?= 1000000
STEPS ?= 1000000
ACCEPTED ?= 10000
REFUSED ?= 1000
CLIENTS ?= 64
CHECKS ?= 2000
ORDERS ?= 100
EACH ?= 50
TASKS ?= 100000
REPEATS ?= 200
MUTANTS ?= 10
SIMSEEDS ?= 10000
DELIVERIES ?= 10000
SUBJECTS ?= 10000
CROWD ?= 10000
CALLERS ?= 200
LONG_FUZZTIME ?= 1m

.PHONY: long
long: ## run the long versions of the tests (sizes: KILLS LOAD CUTS ROUNDS BOMBS CRASHES WORKERKILLS OPS CLIENTS STEPS ACCEPTED REFUSED CHECKS ORDERS EACH TASKS REPEATS MUTANTS SIMSEEDS DELIVERIES SUBJECTS CROWD CALLERS LONG_FUZZTIME)
	go test -race -cpu 1 $$(go list ./... | grep -v /tests/crash) -timeout 1h
	go test ./embedded -count=1 -run Kill -timeout 1h -args -kills $(KILLS)
	go test ./embedded -count=1 -run PowerFailure -timeout 2h -v -args -cuts $(CUTS)
	go test ./embedded -count=1 -run Linear -timeout 2h -v -args -rounds $(ROUNDS)
	go test ./embedded -count=1 -run Bombs -timeout 2h -v -args -bombs $(BOMBS)
	go test ./api -count=1 -run TenThousand -timeout 1h -args -crowd $(CROWD)
	go test ./cmd/cli -count=1 -run TestScriptsInAMapping -timeout 1h -args -all-mapped
	go test ./operate/inspect -count=1 -run TestEachRecordedFactIsOneMoment -timeout 1h -args -timeline-orders 1000
	go test ./server -count=1 -run HalfBodies -timeout 1h -v -args -halves 3000
	go test ./server -count=1 -run 'TestACrashAtAnyCallLosesNothing|TestABankACarrierAndAReceiverThatAreDown' -timeout 2h -args -all-points
	go test ./transitions -count=1 -run TestConcurrentRequestsApplyEachIDOnce -timeout 1h -args -callers $(CALLERS)
	go test ./transitions -count=1 -run TestARequestIsAppliedOnceHoweverItsIdIsChosen -timeout 1h -args -all-histories
	go test ./payments -count=1 -run TestCrashAtAnyCall -timeout 1h -args -all-points
	go test ./tests/crash -count=$(CRASHES) -timeout 2h -args -load $(LOAD)
	go test ./tests/crash -count=1 -run AmongWorkers -timeout 2h -args -workerkills $(WORKERKILLS)
	$(MAKE) fleet FLEET_ROUNDS=5 FLEET_ORDERS=100
	$(MAKE) aws-check-local
	$(MAKE) judges
	go test ./tests/linearizability -count=1 -run WithFaults/stream -timeout 2h -v -args -ops $(OPS) -clients $(CLIENTS)
	go test ./tests/model -count=1 -timeout 3h -v -args -steps $(STEPS)
	go test ./workflow/check -count=1 -run WhatTheCheckAccepts -timeout 3h -v -args -accepted $(ACCEPTED) -refused $(REFUSED)
	go test ./streams/poller -count=1 -run 'TestSimulation|Thousands' -timeout 3h -v -args -simseeds $(SIMSEEDS) -fleetshards 10000
	go test ./queues/requests -count=1 -timeout 1h -args -orders $(ORDERS) -each $(EACH)
	go test -short -count=$(REPEATS) -timeout 10h ./once/... ./transitions/lists ./api/auth
	go run ./internal/tools/mutants -every $(MUTANTS) ./once/txn ./api/auth ./once ./once/idempotency ./once/actions ./once/ledger ./payments ./payments/reconcile ./payments/sandbox ./once/inventory ./queues/events ./operate/erasure ./shipping ./shipping/httpcarrier ./shipping/reports ./shipping/sandbox ./shipping/sfncarrier
	go test ./tests/deliveries -count=1 -timeout 3h -v -args -orders $(DELIVERIES) -kills $(WORKERKILLS) -endpoint-programs 1000
	go test ./tests/deliveries -count=1 -run Starved -timeout 1h -v -args -starved-rounds 12 -starved-notices 500
	go test ./operate/jobs -count=1 -run TestAJobThatIsKilledFiveTimesDoesEachThingOnce -timeout 1h -args -jobs.subjects $(SUBJECTS)
	go test ./api -count=1 -run TestThingsOfOtherTenants -timeout 1h -args -foreign-requests 10000
	go test ./operate/inspect -count=1 -run TestEachRecordedFactIsOneMoment -timeout 1h -args -timeline-orders 1000
	go test ./server -count=1 -run TestTablesOfFiveMomentsGoOn -timeout 1h -v -args -restored 200
	go test ./tests/model -count=1 -run ListsAndMigrations -timeout 1h -v -args -list-programs 1000
	go test ./server -count=1 -run AMigrationUnderLoad -timeout 1h -v -args -migrated 300
	go test ./notify -count=1 -run TestAnOutageLosesNothing -timeout 2h -v -args -outage 24h
	go test ./activities -count=1 -run Soak -timeout 1h -v -args -tasks $(TASKS)
	@set -e; for dir in $$(git grep -l '"pgregory.net/rapid"' -- '*_test.go' ':!tests/conformance' | xargs -n1 dirname | sort -u); do \
	  echo "./$$dir, $(CHECKS) checks"; go test "./$$dir" -count=1 -timeout 2h -args -rapid.checks=$(CHECKS); done
	$(MAKE) --no-print-directory fuzz FUZZTIME=$(LONG_FUZZTIME)

EVERY ?= 1
FROM ?= 0

.PHONY: promises
promises: ## plant the break of each promise and expect its test to fail (EVERY=16 FROM=3: of one promise of 16, from row 3 on)
	@echo go run ./internal/tools/promises -every $(EVERY) -from $(FROM); $(IN_MEMORY); \
	go run ./internal/tools/promises -every $(EVERY) -from $(FROM)

.PHONY: mutants
mutants: ## plant faults in PKG and list those that its tests do not notice: make mutants PKG=./once/ledger
	go run ./internal/tools/mutants $(PKG)

.PHONY: coverage
coverage: ## measure the statement coverage of each package and write it into docs/internals/testing.md
	go run ./internal/tools/coverage -update docs/internals/testing.md ./...

.PHONY: bench
bench: ## measure, each figure beside a baseline (DynamoDB Local with Java and Maven, Dynoxide with cargo, Powertools with Python); BENCH_JSON=file writes JSON
	go run ./cmd/bench

.PHONY: bench-large
bench-large: ## measure the engine with BENCH_ITEMS items (default 10 million, 6 GB on disk) and BENCH_EXECUTIONS open executions (default a million), orders beside BENCH_ORDERS others (a million), and pages of the API with so many
	BENCH_ITEMS=$${BENCH_ITEMS:-10000000} BENCH_EXECUTIONS=$${BENCH_EXECUTIONS:-1000000} BENCH_ORDERS=$${BENCH_ORDERS:-1000000} \
	  go run ./cmd/bench -only engine-growth,engine-open,orders-growth,orders-workers,reaction-lag,api-pages

.PHONY: peers
peers: ## measure executions and orders beside the peers whose programs are in cmd/bench/peers: Restate (needs Node and npm) and Temporal's embedded server (its build takes minutes)
	go run ./cmd/bench -only peers,order-peers

.PHONY: costs
costs: ## measure what orders cost in capacity units, as in docs/reference/costs.md
	go run ./cmd/bench -costs

##@ The module

.PHONY: module
module: ## give the module your path: make module MODULE=example.org/you/ratchet
	go run ./internal/tools/modulepath $(MODULE)
	gofmt -w .

.PHONY: module-check
module-check: ## rename a copy of the module, resolve each import there, and build and test the modules below that use it
	@set -e; dir="$$(mktemp -d)"; trap 'rm -rf "$$dir"' EXIT; \
	git ls-files -co --exclude-standard | tar -cf - -T - | tar -xf - -C "$$dir"; cd "$$dir"; \
	$(MAKE) --no-print-directory module MODULE=example.org/you/ratchet; \
	(set -x; go list -deps -test -tags conformance,image,judges,sdks,upgrade ./... >/dev/null); \
	$(MAKE) --no-print-directory own

# The modules below this one that use it, as examples/own: their go.mod replaces it by a directory above.
USERS = $(patsubst ./%/go.mod,%,$(shell find . -name go.mod ! -path './.?*' -exec grep -lE '^replace [^ ]+ => [./]+$$' {} + | sort))

.PHONY: own
own: ## build and test the modules below this one that use it: examples/own and peers of the benchmark
	@set -e; for dir in $(USERS); do (set -x; cd $$dir && test -z "$$(gofmt -l .)" && go vet ./... && go test ./...); done
	@echo "cmd/bench/peers/temporal and restatego are read and NOT compiled, which takes minutes: make peers does it" >&2
	@set -e; for dir in temporal restatego; do (set -x; cd cmd/bench/peers/$$dir && test -z "$$(gofmt -l .)" && faults="$$(GOPROXY=off go list -e -f '{{with .Error}}{{.}}{{end}}' .)" && test -z "$$faults"); done

.PHONY: console
console: ## write what the console embeds: pages, style and script (needs proxy.golang.org and registry.npmjs.org)
	cd console/build && GOFLAGS= go run . .. >/dev/null
	gofmt -w console/*_templ.go

.PHONY: console-check
console-check: ## fail if what the console embeds is not what its sources say
	@set -e; dir="$$(mktemp -d)"; trap 'rm -rf "$$dir"' EXIT; cp -r console "$$dir/console"; $(MAKE) --no-print-directory console; \
	diff -r "$$dir/console" console || { echo "make console-check: what is embedded was not written by make console" >&2; exit 1; }

##@ Keep clean

.PHONY: format
format: ## fail when a file is not formatted
	@out="$$(gofmt -l $$(git ls-files '*.go'))"; test -z "$$out" || { echo "not formatted: $$out"; exit 1; }

.PHONY: vet
vet: ## go vet
	go vet ./...

.PHONY: lint
lint: $(GOLANGCI_LINT) ## golangci-lint
	$(GOLANGCI_LINT) run ./...

.PHONY: vuln
vuln: $(GOVULNCHECK) ## known vulnerabilities that the code reaches
	@if [ -d "$(VULNDB)" ]; then $(GOVULNCHECK) -db "file://$$(realpath $(VULNDB))" ./...; else $(GOVULNCHECK) ./...; fi

.PHONY: clean
clean: ## remove what was built and fetched
	rm -rf bin .cache

.PHONY: tools
tools: $(GOLANGCI_LINT) $(GOVULNCHECK) $(SCHEMATHESIS) $(DEPLOY_CHECKS) ## install what lint, vuln, contract, deploy-check and sdks need
	bash tests/sdks/setup.sh $(CACHE)/sdks

$(GOLANGCI_LINT):
	GOBIN="$(TOOLS)" go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
	mv "$(TOOLS)/golangci-lint" $@

$(GOVULNCHECK):
	GOBIN="$(TOOLS)" go install golang.org/x/vuln/cmd/govulncheck@v1.1.4
	mv "$(TOOLS)/govulncheck" $@

$(SCHEMATHESIS):
	rm -rf $(CACHE)/schemathesis-4.32.5
	python3 -m venv $(CACHE)/schemathesis-4.32.5
	$(CACHE)/schemathesis-4.32.5/bin/pip install --quiet --no-compile schemathesis==4.32.5 || \
	  { rm -rf $(CACHE)/schemathesis-4.32.5; echo "PyPI cannot be reached, so the API was NOT held against its document" >&2; exit 1; }

$(DEPLOY_CHECKS):
	python3 -m venv $@
	$@/bin/pip install --quiet --no-compile checkov==3.3.30 cfn-lint==1.58.0 || \
	  { rm -rf $@; echo "PyPI cannot be reached, so the templates were NOT checked" >&2; exit 1; }
