// Declares a suite that works on a migrated database of its own: a clone of a template that is migrated once per run.
import { afterAll, afterEach, beforeAll } from 'vitest'
import { type Database, statement } from '../../src/storage/database.ts'
import { openPostgres } from '../../src/storage/postgres.ts'
import { clonedDatabase } from './cloned-database.ts'
import { describeOnPostgres, type TestDatabase } from './databases.ts'

/** `emptied`: after every test, or not at all, for suites whose gateway stays at work in between. */
export function describeOnDatabase(
  name: string,
  declareTests: (database: () => Database) => void,
  emptied: 'each' | 'all' = 'each',
): void {
  describeOnPostgres(name, (adminUrl) => {
    let clone: TestDatabase
    let database: Database
    beforeAll(async () => {
      clone = await clonedDatabase(adminUrl)
      database = openPostgres({ url: clone.url })
    })
    if (emptied === 'each') afterEach(() => empty(database))
    afterAll(async () => {
      await database.close()
      await clone.drop()
    })
    declareTests(() => database)
  })
}

// Truncating forty tables after every test makes and removes some two hundred files: a third of a run's time. Most tables hold nothing,
// and what a test put into the others is quicker deleted. Triggers rest meanwhile, those of the audit log and of the tallies too.
const emptyEverything = statement(
  'test_empty',
  `do $$
   declare
     name text;
     is_used boolean;
     is_grown boolean;
   begin
     perform set_config('session_replication_role', 'replica', true);
     for name, is_grown in
       select format('%I', relname), pg_relation_size(oid) > 262144 from pg_class
       where relnamespace = 'public'::regnamespace and relkind = 'r' and relname <> 'parley_migrations'
     loop
       execute 'select exists (select from ' || name || ')' into is_used;
       if is_grown then
         execute 'truncate ' || name || ' cascade';
       elsif is_used then
         execute 'delete from ' || name;
       end if;
     end loop;
   end $$`,
)

const sequences = statement(
  'test_sequences',
  `select setval(format('%I', sequencename)::regclass, start_value, false) from pg_sequences
   where schemaname = 'public' and last_value is not null`,
)

async function empty(database: Database): Promise<void> {
  await database.transaction(async (sql) => {
    await sql.query(emptyEverything, [])
    await sql.query(sequences, [])
  })
}
