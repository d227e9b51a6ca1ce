/** What stands between a workspace and a program it starts: the argument vector that confines it, and its clean-up. */

import type { CapstanError } from "@capstan/core";

/** One way to confine programs, such as `bwrap()`. */
export interface Sandbox {
  readonly name: string;
  /**
   * Makes ready for one workspace, named by its real path, and proves it by running a canary inside. Throws
   * `sandbox-unavailable` when it is missing, broken, or cannot keep its rules.
   */
  open(root: string): Promise<Confiner>;
}

export interface Confiner {
  /** As `Workspace.confinement`: the sandbox and what it lets through. */
  readonly confinement: string;
  /** Programs inside can be given a way to a gateway. */
  readonly takesGateway?: true;
  /** Prepares one run. The caller calls `end` when nothing of it runs any more. */
  begin(argv: readonly string[], place: ConfinedPlace): Promise<Confined>;
  close(): Promise<void>;
}

export type ConfinedPlace = {
  /** Real path in the workspace. */
  readonly cwd: string;
  readonly env?: { readonly [name: string]: string };
  readonly input?: string;
  /** A way out for this run. Only for a confiner that takes one. */
  readonly gateway?: GatewayGrant;
};

/** Services outside that programs may use without their secrets, such as `broker()`. */
export interface Gateway {
  /** For one run. Throws `config-invalid` while it is not open. */
  grant(): Promise<GatewayGrant>;
}
export type GatewayGrant = {
  /** Variables with the addresses to use: on the port of this machine's loopback, or on `port` where that leads to it. */
  env(port?: number): { readonly [name: string]: string };
  /** Absolute path of a socket that leads to it; absent where there are none. */
  readonly socket?: string;
  /** The addresses lead nowhere any more. */
  end(): void;
};

export type Confined = {
  /** What is started instead. */
  readonly argv: readonly string[];
  /** Values for this run that nothing else may set. */
  readonly env: { readonly [name: string]: string };
  /** `argv` runs the shim, which reports on `STATUS_DESCRIPTOR`. */
  readonly shim: boolean;
  /** Its standard input stays open as long as this process lives; the end of it ends everything inside. */
  readonly lifeline: boolean;
  /** Why the program itself never ran: `missing` when it is not there; undefined when it did. */
  problem(end: ConfinedStart): string | undefined;
  /** `stopped`: it was ended from outside, and what is inside may not have ended with it. */
  end(stopped: boolean): Promise<void>;
};

export type ConfinedStart = {
  readonly exitCode: number | null;
  /** What the shim told, if there is one. */
  readonly report: ShimReport | undefined;
  /** The first words on standard error. */
  readonly stderr: string;
};

export type ShimReport = { readonly started: boolean; readonly missing: boolean; readonly leftover: number };

/** What programs inside may do beyond reading the system and working in the workspace. */
export type SandboxRules = {
  /** Default false. A list of host names needs a sandbox that can tell them apart: `srt()`. */
  readonly network?: boolean | readonly string[];
  /** Absolute paths besides the workspace that may be written, such as a package cache. */
  readonly writable?: readonly string[];
  /** Absolute paths outside of the system's own folders that may be read. */
  readonly readable?: readonly string[];
  readonly limits?: SandboxLimits;
};

/** `memoryBytes` and `cpuSeconds` hold for each process, in a container for all together; `processes` for all. */
export type SandboxLimits = {
  readonly memoryBytes?: number;
  readonly cpuSeconds?: number;
  readonly processes?: number;
};

/** Told once for each workspace that runs without its sandbox. */
export type OnFallback = (reason: CapstanError) => void;
