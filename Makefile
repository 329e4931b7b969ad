# The front door. Meson does the building; see CONTRIBUTING.md.
#
#   make            builds build/stoke
#   make demo       installs what is missing, builds, profiles this machine for five
#                   seconds and draws demo.svg
#   make test       installs what is missing, runs all tests
#   make bench      generates inputs and times stoke on them
#   make install    installs (DESTDIR and PREFIX as usual)
#   make format     puts the sources into the project's layout
#   make deps       installs what building and testing need
#   make clean      removes the build folder

BUILD = build
PREFIX = /usr/local

all: $(BUILD)/build.ninja
	@ninja -C $(BUILD) program

$(BUILD)/build.ninja:
	@command -v meson >/dev/null || { echo "meson is missing: 'make deps' installs what building needs"; exit 1; }
	meson setup --prefix $(PREFIX) $(BUILD)

deps:
	@tools/deps build test viewer

# A build folder set up before the test library was there is set up again.
test:
	@tools/deps browser
	@$(MAKE) --no-print-directory all
	@grep -q cmocka $(BUILD)/build.ninja || meson setup --reconfigure $(BUILD)
	@tests/run --build $(BUILD)

demo:
	@tools/deps demo
	@$(MAKE) --no-print-directory all
	@tools/demo $(BUILD)

bench:
	@tools/deps build
	@$(MAKE) --no-print-directory all
	@ninja -C $(BUILD) bench/generate bench/generate_trace
	@bench/run --build $(BUILD); missed=$$?; \
	bench/unwind --build $(BUILD) && exit $$missed

install: $(BUILD)/build.ninja
ifneq ($(origin PREFIX),file)
	@meson configure $(BUILD) --prefix $(PREFIX)
endif
	@$(MAKE) --no-print-directory all
	meson install -C $(BUILD) --no-rebuild

format:
	git ls-files '*.c' '*.h' | xargs clang-format -i

clean:
	rm -rf $(BUILD)

help:
	@sed -n '/^#   make/,/^$$/s/^#  //p' Makefile

.PHONY: all deps test demo bench install format clean help
