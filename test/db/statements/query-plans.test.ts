// Plans that are made while the tables are empty are kept while they fill. Whatever looks for one row must find it by its key.
import { beforeAll, expect, test } from 'vitest'
import { acceptOnce, acceptWithMore } from '../../../src/db/accept.ts'
import { claimAccountDeletionSql } from '../../../src/db/account-deletions.ts'
import { nameStatement, type Statement } from '../../../src/db/client.ts'
import { strayStatements } from '../../../src/db/erase-traces.ts'
import { openRoomTurn, openTurnSql } from '../../../src/db/open-turn.ts'
import { settleSendSql, startSendSql } from '../../../src/db/outbox.ts'
import { resolveAction } from '../../../src/db/pending-actions.ts'
import { findReceiptSql } from '../../../src/db/receipts.ts'
import { cancelRunSql, listRunEventsSql } from '../../../src/db/runs.ts'
import {
  cancelTask,
  findPush,
  findTask,
  logPositionBefore,
  readTask,
  savePush,
  taskNews,
  taskOfMessage,
} from '../../../src/db/tasks.ts'
import { fireTimers } from '../../../src/db/transcripts.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'

const hot: readonly Statement[] = [
  acceptOnce,
  acceptWithMore,
  openTurnSql,
  openRoomTurn,
  cancelRunSql,
  listRunEventsSql,
  findReceiptSql,
  findPush,
  savePush,
  resolveAction,
  fireTimers,
  startSendSql,
  settleSendSql,
  cancelTask,
  findTask,
  readTask,
  taskNews,
  taskOfMessage,
  logPositionBefore,
  claimAccountDeletionSql,
]

/** Looks through everything that a tenant or a connection has. */
const wide = /Index Cond: \(*(\w+\.)?tenant = [^()]*\)( AND \((\w+\.)?connection = [^()]*\)\))?$/

type PlanLine = { readonly 'QUERY PLAN': string }

/** Tables that were emptied keep their pages, and plans are made by those: these never held anything. */
const neverFilled = nameStatement(
  'test_never_filled',
  `do $$ begin
     perform set_config('parley.retention', 'on', true);
     execute (
       select 'truncate ' || string_agg(format('%I', relname), ', ') from pg_class
       where relnamespace = 'public'::regnamespace and relkind = 'r' and relname <> 'parley_migrations');
   end $$`,
)

describeOnDatabase('a plan for empty tables', (database) => {
  beforeAll(() => database().query(neverFilled, []))

  const planOf = ({ name, text }: Statement): Promise<readonly string[]> => {
    const count = Math.max(...[...text.matchAll(/\$(\d+)/g)].map((each) => Number(each[1])))
    const nulls = new Array(count).fill('null').join(', ')
    return database().transaction(async (sql) => {
      await sql.query(nameStatement('keep_plan', `set local plan_cache_mode = 'force_generic_plan'`), [])
      await sql.query(nameStatement('prepare', `prepare ${name} as ${text}`), [])
      const plan = await sql.query<PlanLine>(nameStatement('explain', `explain execute ${name}(${nulls})`), [])
      await sql.query(nameStatement('deallocate', `deallocate ${name}`), [])
      return plan.map((row) => row['QUERY PLAN'])
    })
  }

  test.each(hot.map((each) => [each.name, each] as const))('%s finds its row by a key', async (_name, asked) => {
    const lines = await planOf(asked)
    expect(lines.length).toBeGreaterThan(1)
    // A block ends what waits for one person, in whichever lanes of its connection that is.
    const isBlock = (at: number): boolean => lines[at - 1]?.includes(' on send_lanes l') === true
    expect(lines.filter((line, at) => wide.test(line) && !isBlock(at))).toEqual([])
  })

  test.each(Object.values(strayStatements).map((each) => [each.name, each] as const))(
    '%s finds what belongs to no conversation by the index of just that',
    async (_name, asked) => {
      const read = (await planOf(asked)).filter((line) => / on inbox x /.test(line))
      expect(read).toEqual([expect.stringContaining('Index Scan using inbox_stray on inbox x ')])
    },
  )
})
