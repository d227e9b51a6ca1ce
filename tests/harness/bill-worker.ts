/** A process of its own for one sitting: takes it as JSON, prints its process id and what people were told. */

import { sit, type Sitting } from "./bill-agent.ts";

const sitting = JSON.parse(process.argv[2] ?? "") as Sitting; // written by input-bill.test.ts
console.log(JSON.stringify({ pid: process.pid, notices: await sit(sitting) }));
