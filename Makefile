# SPDX-License-Identifier: GPL-2.0-only
# Builds the module for a kernel whose headers are installed, the program, and the tests.
KDIR ?= /lib/modules/$(shell uname -r)/build
PREFIX ?= /usr/local
CFLAGS ?= -O2 -g $(WERROR)
BUILD := build

WARNINGS := -Wall -Wextra -Wmissing-prototypes -Wstrict-prototypes -Wno-sign-compare
CPPFLAGS += -D_GNU_SOURCE $(INCLUDE_FIRST) -Iinclude/uapi -Iuser -Ikmod -MMD -MP
COMPILE = $(CC) -std=gnu11 $(CPPFLAGS) $(CFLAGS) $(WARNINGS)

.PHONY: all module user tests check check-host check-vm lint install clean help
all: user module

help:
	@echo 'all         the program and the module (default)'
	@echo 'module      $(BUILD)/kmod/calm.ko for the kernel whose headers are in KDIR, now $(KDIR)'
	@echo 'user        $(BUILD)/calm'
	@echo 'tests       the test programs'
	@echo 'check       everything: packages, builds, lint, tests in guests (tools/check)'
	@echo 'check-host  tests that need neither root nor a guest'
	@echo 'check-vm    tests in guests'
	@echo 'lint        style of the sources'
	@echo 'install     module, program and manual pages under DESTDIR, PREFIX=$(PREFIX)'
	@echo 'clean       remove $(BUILD)'

# one object per source, for the program and the tests alike
$(BUILD)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(COMPILE) -c -o $@ $<
# a window has the same bytes in the module, where Kbuild has these switches
$(BUILD)/obj/kmod/loops/%.o: CFLAGS := -O2 -g -fno-stack-protector -fcf-protection=none -fno-pie

-include user/Makefile.inc
-include tools/simcpu/Makefile.inc
include selftests/Makefile.inc
-include $(shell find $(BUILD)/obj $(BUILD)/selftests $(BUILD)/simcpu $(BUILD)/vm -name '*.d' -type f 2>/dev/null)

user: $(BUILD)/calm

# Kbuild writes beside the sources that it compiles: give it a copy
MODULE_SOURCES := Kbuild $(shell find kmod include -type f)
module: $(BUILD)/kmod/calm.ko
$(BUILD)/kmod/calm.ko: $(MODULE_SOURCES)
	@test -e $(KDIR)/Makefile || { echo 'no kernel headers in $(KDIR): install' \
		'linux-headers-$(shell uname -r), or give KDIR=' >&2; exit 1; }
	rm -rf $(BUILD)/kmod && mkdir -p $(BUILD)/kmod
	cp -p --parents $(MODULE_SOURCES) $(BUILD)/kmod
	$(MAKE) -C $(KDIR) M=$(CURDIR)/$(BUILD)/kmod modules

# the guest's first process stands alone
$(BUILD)/vm/init: tools/vm/init.c
	@mkdir -p $(@D)
	$(COMPILE) -static -o $@ $<

check:
	tools/check

check-host check-vm: check-%:
	tools/check --only $*

lint:
	tools/lint

install: user module
	install -D -m 755 $(BUILD)/calm $(DESTDIR)$(PREFIX)/bin/calm
	$(MAKE) -C $(KDIR) M=$(CURDIR)/$(BUILD)/kmod INSTALL_MOD_PATH=$(DESTDIR) modules_install

clean:
	rm -rf $(BUILD)
