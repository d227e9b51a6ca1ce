/** The subject: a runtime over the local engine with one agent, and one subscriber that reads the events of its run. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { agent, type Engine, memoryStore, type Message, openRuntime, type Runtime, storeEngine, systemClock, systemIds, tool } from "capstan";
import { localEngine } from "capstan/engines/local";
import { anthropic } from "capstan/models/anthropic";
import { openRuntime as openCoreRuntime } from "@capstan/core";
import { z } from "zod";
import { historyText, INPUT, type Job, type LookInput, type Subject, SYSTEM, TOOL } from "./subject.ts";
