# Shortcuts; Meson builds the program. See CONTRIBUTING.md.
#
#   make            builds build/stoke and lists missing optional parts
#   make demo       installs missing packages, builds, profiles this machine for five
#                   seconds and draws demo.svg; then builds the optional parts
#   make test       installs missing packages, runs all tests
#   make bench      generates inputs and measures stoke on them
#   make install    installs (DESTDIR and PREFIX as usual)
#   make uninstall  removes the files of the last make install
#   make format     formats the sources
#   make deps       installs the packages for building and testing
#   make clean      removes the build directory

BUILD = build
PREFIX = /usr/local

all: configure
	@ninja -C $(BUILD) program
	@tools/parts list $(BUILD)

# Searches for the packages of optional parts each time: they can be installed later.
configure:
	@tools/parts configure $(BUILD) $(PREFIX)

deps:
	@tools/deps build test viewer

test:
	@tools/deps browser
	@$(MAKE) --no-print-directory all
	@tests/run --build $(BUILD)

# Draws first: the optional parts take longer to install and build.
demo:
	@tools/deps demo
	@$(MAKE) --no-print-directory configure
	@STOKE_VIEWER=later ninja -C $(BUILD) stoke
	@tools/demo $(BUILD)
	@echo "demo: installing and building the optional parts"
	@tools/deps man bpf viewer || echo "demo: some optional parts are not built without the packages above"
	@$(MAKE) --no-print-directory all
	@echo "the program is $(CURDIR)/$(BUILD)/stoke; 'make install' (as root) installs it as $(PREFIX)/bin/stoke"

bench:
	@tools/deps build
	@$(MAKE) --no-print-directory all
	@ninja -C $(BUILD) bench/generate bench/generate_trace
	@bench/run --build $(BUILD); missed=$$?; \
	bench/unwind --build $(BUILD) || missed=1; \
	bench/heap --build $(BUILD) && exit $$missed

install: configure
ifneq ($(origin PREFIX),file)
	@meson configure $(BUILD) --prefix $(PREFIX)
endif
	@$(MAKE) --no-print-directory all
	meson install -C $(BUILD) --no-rebuild

uninstall:
	@[ -e $(BUILD)/meson-logs/install-log.txt ] || { echo "nothing is installed from $(BUILD)"; exit 1; }
	@ninja -C $(BUILD) uninstall

format:
	tools/spdx
	git ls-files '*.c' '*.h' | xargs clang-format -i

clean:
	rm -rf $(BUILD)

help:
	@sed -n '/^#   make/,/^$$/s/^#  //p' Makefile

.PHONY: all configure deps test demo bench install uninstall format clean help
