// Migrated databases that a worker keeps from suite to suite: making one costs a tenth of a second of work, emptying one a hundredth.
import postgres from 'postgres'
import { clonedDatabase } from './cloned-database.ts'
import type { TestDatabase } from './postgres-databases.ts'

const idle: TestDatabase[] = []
let asCloned: string | undefined

/** Dropping it ends what is still connected and empties it for the next suite; only what a suite built differently is gone. */
export async function takeDatabase(adminUrl: string): Promise<TestDatabase> {
  const database = idle.pop() ?? (await clonedDatabase(adminUrl))
  asCloned ??= await withConnection(database.url, shapeOf)
  return {
    name: database.name,
    url: database.url,
    async drop() {
      const shape = await withConnection(database.url, async (sql) => {
        await sql.unsafe(endOthers)
        await sql.unsafe(emptyEverything)
        return shapeOf(sql)
      })
      if (shape === asCloned) idle.push(database)
      else await database.drop()
    },
  }
}

async function withConnection<T>(url: string, work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const sql = postgres(url, { max: 1, onnotice: () => {}, fetch_types: false })
  try {
    return await work(sql)
  } finally {
    await sql.end({ timeout: 5 })
  }
}

const endOthers = `
  select pg_terminate_backend(pid, 5000) from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid()`

// Truncating forty tables makes and removes some two hundred files. Most tables hold nothing, and what a test put into the others
// is quicker deleted. Triggers rest meanwhile, those of the audit log and of the counters too. Sequences begin again.
export const emptyEverything = `do $$
   declare
     name text;
     is_used boolean;
     size bigint;
   begin
     perform set_config('session_replication_role', 'replica', true);
     for name, size in
       select format('%I', relname), pg_relation_size(oid) from pg_class
       where relnamespace = 'public'::regnamespace and relkind = 'r' and relname <> 'parley_migrations'
     loop
       continue when size = 0;
       execute 'select exists (select from ' || name || ')' into is_used;
       if size > 262144 then
         execute 'truncate ' || name || ' cascade';
       elsif is_used then
         execute 'delete from ' || name;
       end if;
     end loop;
     perform setval(format('%I', sequencename)::regclass, start_value, false) from pg_sequences
     where schemaname = 'public' and last_value is not null;
   end $$`

/** Columns, indexes, constraints, triggers, functions, applied migrations, and whether statistics were gathered. */
async function shapeOf(sql: postgres.Sql): Promise<string> {
  const [row] = await sql.unsafe(`
    with shape (line) as (
      select format('%s %s %s %s', attrelid::regclass, attname, atttypid, attnotnull) from pg_attribute a
        join pg_class c on c.oid = attrelid where relnamespace = 'public'::regnamespace and attnum > 0
      union all select format('%s %s', relname, relpages) from pg_class
        where relnamespace = 'public'::regnamespace and relkind = 'r'
      union all select indexdef from pg_indexes where schemaname = 'public'
      union all select format('%s %s', conname, convalidated) from pg_constraint
      union all select format('%s %s', tgname, tgenabled) from pg_trigger where not tgisinternal
      union all select format('%s %s', proname, md5(prosrc)) from pg_proc where pronamespace = 'public'::regnamespace
      union all select format('%s %s', made_at, is_compatible) from parley_migrations
      union all select format('statistics of %s', starelid::regclass) from pg_statistic where starelid >= 16384)
    select md5(string_agg(line, ',' order by line)) as shape from shape`)
  return String(row?.['shape'])
}
