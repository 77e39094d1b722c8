# SPDX-License-Identifier: GPL-2.0-only
# Builds the module for a kernel whose headers are installed, the program, and the tests.
KDIR ?= /lib/modules/$(shell uname -r)/build
PREFIX ?= /usr/local
CFLAGS ?= -O2 -g $(WERROR)
BUILD := build

WARNINGS := -Wall -Wextra -Wmissing-prototypes -Wstrict-prototypes -Wno-sign-compare
CPPFLAGS += -ffile-prefix-map=$(CURDIR)=. -D_GNU_SOURCE $(INCLUDE_FIRST) -Iinclude/uapi -Iuser -Ikmod -MMD -MP
COMPILE = $(CC) -std=gnu11 $(CPPFLAGS) $(CFLAGS) $(WARNINGS)

.PHONY: all module user man tests check check-host check-vm lint clean help
.PHONY: install install-user uninstall dkms-install dkms-uninstall
all: user module

help:
	@echo 'all             the program and the module (default)'
	@echo 'module          $(BUILD)/kmod/calm.ko, by the headers in KDIR=$(KDIR)'
	@echo 'user            $(BUILD)/calm'
	@echo 'man             the manual pages, in $(BUILD)/man'
	@echo 'tests           the test programs'
	@echo 'check           everything: packages, builds, lint, tests in guests (tools/check)'
	@echo 'check-host      tests that need neither root nor a guest'
	@echo 'check-vm        tests in guests'
	@echo 'lint            style of the sources'
	@echo 'install         all of install-user, and the module for KDIR, under DESTDIR'
	@echo 'install-user    program, manual pages, schema, module source, under DESTDIR, PREFIX=$(PREFIX)'
	@echo 'uninstall       remove what install put there'
	@echo 'dkms-install    install-user, and have dkms build the module for each kernel'
	@echo 'dkms-uninstall  take the module out of dkms'
	@echo 'clean           remove $(BUILD)'

# one object per source, for the program and the tests alike
$(BUILD)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(COMPILE) -c -o $@ $<
# a window has the same bytes in the module, where Kbuild has these switches
$(BUILD)/obj/kmod/loops/%.o: CFLAGS := -O2 -g -fno-stack-protector -fcf-protection=none -fno-pie

-include user/Makefile.inc
include Documentation/Makefile.inc
include tools/Makefile.inc
-include tools/simcpu/Makefile.inc
include selftests/Makefile.inc
-include $(shell find $(BUILD)/obj $(BUILD)/selftests $(BUILD)/simcpu $(BUILD)/vm -name '*.d' -type f 2>/dev/null)

user: $(BUILD)/calm

# Kbuild writes beside the sources that it compiles: give it a copy
MODULE_SOURCES := Kbuild $(shell find kmod include -type f)
module: $(BUILD)/kmod/calm.ko
$(BUILD)/kmod/calm.ko: $(MODULE_SOURCES) $(BUILD)/kdir
	@test -e $(KDIR)/Makefile || { echo 'no kernel headers in $(KDIR): install' \
		'linux-headers-$(shell uname -r), or give KDIR=' >&2; exit 1; }
	rm -rf $(BUILD)/kmod && mkdir -p $(BUILD)/kmod
	cp -p --parents $(MODULE_SOURCES) $(BUILD)/kmod
	$(MAKE) -C $(KDIR) M=$(CURDIR)/$(BUILD)/kmod \
		KCFLAGS=-ffile-prefix-map=$(CURDIR)/$(BUILD)/kmod/= modules

# a module for another kernel is not up to date
$(BUILD)/kdir: FORCE
	@mkdir -p $(@D)
	@echo '$(KDIR)' | cmp -s - $@ || echo '$(KDIR)' > $@
FORCE:

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

clean:
	rm -rf $(BUILD)
