/** capstan/engines/local: one SQLite file for any number of processes of one machine. */

export { localEngine, type LocalEngineOptions } from "@capstan/engines/local";
