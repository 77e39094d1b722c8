// SPDX-License-Identifier: GPL-2.0-only
/* A plugin that prints which plugin API versions a QEMU speaks and makes it exit. */
#include <stdio.h>
#include "abi.h"

const int qemu_plugin_version = QEMU_PLUGIN_API;

int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int argc, char **argv)
{
	(void)id;
	(void)argc;
	(void)argv;
	printf("plugin-api %d %d\n", info->version.min, info->version.cur);
	fflush(stdout);
	return 1;
}
