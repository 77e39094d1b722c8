/* SPDX-License-Identifier: GPL-2.0-only */
/* Nothing but a place for the include of a file of the module that a host test includes. */
