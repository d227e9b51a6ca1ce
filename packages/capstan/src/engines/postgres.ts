/** capstan/engines/postgres: one Postgres database for any number of processes of any number of machines. */

export {
  postgresEngine,
  type PostgresEngineOptions,
  postgresStore,
  type PostgresStoreOptions,
} from "@capstan/engines/postgres";
