/** Measures turns from inside: the tool of the conversation tells when one begins. */

import { lookAt, type LookInput } from "./subject.ts";
import { cpuMicros } from "./world.ts";

/** Counts the turns of a conversation by the calls of its tool, and what those after the first `skip` cost. */
export function turnMeter(
  turns: number,
  skip: number,
): { readonly look: (input: LookInput) => string; readonly perTurn: () => number } {
  let made = 0;
  let before = process.cpuUsage();
  let cpu = 0;
  return {
    look(input) {
      made += 1;
      if (made === skip) before = process.cpuUsage();
      if (made === turns) cpu = cpuMicros(before);
      return lookAt(input);
    },
    perTurn() {
      if (made !== turns) throw new Error(`${made} calls were made, not ${turns}`);
      made = 0;
      return cpu / (turns - skip);
    },
  };
}
