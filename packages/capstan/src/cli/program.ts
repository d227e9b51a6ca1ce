/** The command line: names, options and help. Each subcommand is loaded when it is called, so that help costs nothing. */

import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import { CapstanError } from "@capstan/core/errors";
