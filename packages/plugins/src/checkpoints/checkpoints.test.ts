import { randomBytes } from "node:crypto";
