/** Standard output of a command that speaks a protocol on it. */

import { Writable } from "node:stream";

/** The pipe of the protocol. Whatever else is written to standard output from now on, by whomever, goes to standard error (G24). */
export function protocolOnly(): Writable {
  const { stdout, stderr } = process;
  const write = stdout.write.bind(stdout);
  const output = new Writable({
    decodeStrings: true,
    write: (piece: Buffer, _encoding, done) => void write(piece, (error) => done(error)),
  });
  stdout.on("error", (error) => output.destroy(error));
  stdout.on("close", () => output.destroy());
  stdout.write = stderr.write.bind(stderr) as typeof stdout.write; // the same two forms of call
  return output;
}
