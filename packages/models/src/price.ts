/** What tokens cost: worked out in the core, which keeps budgets by it. */

export { withCost } from "@capstan/core";
