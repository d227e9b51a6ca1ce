/** @capstan/core/testing: what a user's tests of agents, tools, stores and models need. Free of any test runner. */

export { storeContract, type ContractCase, type StoreFixture } from "./store-contract.ts";
