# What people type. The work is done in scripts/, which install what they miss and say so.
#
#   make run   ARGS='--port 7000'   build the release server and start it on 127.0.0.1:6379, with its
#                                   data in data/
#   make build                      build the release server only
#   make tools                      build varve-check and varve-import
#   make test  STAGES='fmt clippy'  every check and test, or the named stages (scripts/test lists them)
#   make compat ARGS=...            Valkey's own test suite against a running Varve;
#                                   ARGS=--memcached runs Memcached's instead
#   make clients ARGS=...           the own tests of client libraries against Varve and Valkey, side by side,
#                                   queues and locks that are made of scripts, and clients of Memcached;
#                                   ARGS picks some
#   make report ARGS=...            every scenario of bench/ at a small scale, and a page of them
#   make bench  ARGS=...            the same at the whole scale, or what ARGS names
#   make fuzz  TIME=600 TARGETS=... every fuzz target for so many seconds each
#   make differential TIME=3600 ...  random commands to Varve and Valkey, and what differs;
#                                   ARGS=--borders tries all forms of values instead,
#                                   ARGS=--memcached lines of Memcached's protocol, beside Memcached
#   make hammer ARGS='--minutes 5'  many connections on the same keys, and what must hold at the end
#   make soak  TIME=3600 ARGS=...   at length what tests do briefly: crashes, kills, journals, random
#                                   commands and the hammer; ARGS names parts (scripts/soak lists them)
#   make manual                     docs/manual/ from the tables of commands and settings
#   make clean                      remove what was built

SHELL := /bin/bash
CARGO_HOME ?= $(HOME)/.cargo
export PATH := $(CARGO_HOME)/bin:$(PATH)
# Absolute, since scripts change folders.
export CARGO_TARGET_DIR := $(abspath $(or $(CARGO_TARGET_DIR),target))

ARGS ?=
STAGES ?=
TIME ?= $(if $(filter differential soak,$(MAKECMDGOALS)),3600,600)
TARGETS ?=

SERVER := $(CARGO_TARGET_DIR)/release/varve-server
# A configuration file comes first in ARGS and then decides about address, port and directory.
ADDRESS := $(if $(filter-out -%,$(firstword $(ARGS))),,--bind 127.0.0.1 --port 6379 --dir data)

# A twenty-fifth of the whole takes less than twenty minutes on two cores.
SCALE ?= 0.04
REPORTS ?= target/report

.PHONY: run build tools test compat clients report bench fuzz differential hammer soak manual clean

run: build
	@mkdir -p data
	@exec $(SERVER) $(ADDRESS) $(ARGS)

build:
	@scripts/need cc rust
	cargo build --release -p varve

tools:
	@scripts/need cc rust
	cargo build --release -p varve -p import

test:
	@scripts/test $(STAGES)

compat:
	@scripts/compat $(ARGS)

# Queues, locks and a cache that are made of scripts, and clients under sentinels, beside the libraries' own tests.
PROGRAMS := bullmq rq celery sidekiq redisson django sentinels

clients: build
	@export VARVE_SERVER="$${VARVE_SERVER:-$(SERVER)}"; \
	programs='$(filter $(PROGRAMS),$(or $(ARGS),$(PROGRAMS)))'; \
	suites='$(filter-out $(PROGRAMS) memcached,$(ARGS))'; \
	status=0; \
	if [[ -n $$programs ]]; then tests/with_server.py tests/clients/run $$programs || status=1; fi; \
	users='$(filter bullmq sidekiq,$(or $(ARGS),$(PROGRAMS)))'; \
	if [[ -n $$users ]]; then tests/clients/as_user $$users || status=1; fi; \
	if [[ -n $$suites || -z '$(ARGS)' ]]; then tests/clients/suites/run $$suites || status=1; fi; \
	if [[ -z '$(filter-out memcached,$(ARGS))' ]]; then tests/clients/memcached/run || status=1; fi; \
	exit $$status

report:
	@scripts/bench report --scale $(SCALE) --results $(REPORTS) $(ARGS)

bench:
	@scripts/bench $(ARGS)

fuzz:
	@TIME=$(TIME) scripts/fuzz $(TARGETS)

differential:
	@TIME=$(TIME) scripts/differential $(ARGS)

hammer:
	@scripts/hammer $(ARGS)

soak:
	@TIME=$(TIME) scripts/soak $(ARGS)

MANUAL = cargo run --quiet --package families --example manual

manual:
	@scripts/need cc rust
	@for page in settings commands; do \
	  text=$$($(MANUAL) $$page) && printf '%s\n' "$$text" > docs/manual/$$page.md || exit; \
	done

clean:
	cargo clean
