// Forgetting on SQL.
import type { EraseStore, PartialErasedCounts, ReceiptPage } from '../identity/forget/forget-store.ts'
import type { Database, Param, Statement } from './database.ts'
import { conversationStatements, lockSends, lockTurns, namesOf } from './statements/forget.ts'
import { aPerson, type Reach } from './statements/forget-reach.ts'
import { countReceiptPage, type ReceiptStatements, receiptStatements } from './statements/forget-receipts.ts'
import {
  countPerson,
  erasePersonAmbient,
  erasePersonAttachments,
  erasePersonNames,
  erasePersonPairings,
  erasePersonRecords,
} from './statements/forget-traces.ts'
import { storableJson } from './storable-json.ts'

/** Rows erased in one statement. */
export const eraseBatchSize = 500
/** Receipts looked at in one statement; few of them are the person's. */
const pageRows = 5_000

type Page = { readonly last: string | null; readonly receipts: number; readonly looked: number } & PartialErasedCounts

type Walk = Pick<
  EraseStore,
  'nextConversation' | 'stop' | 'eraseLines' | 'eraseRuns' | 'eraseTurns' | 'leave' | 'eraseReceipts'
>

/** Through conversations and receipts, as far as it reaches; `whom` is what the statements know them by. */
export function createWalk(
  database: Database,
  tenant: string,
  reach: Reach,
  whom: (names: readonly string[]) => string,
): Walk {
  const ask = conversationStatements(reach)
  const eraseReceipts = receiptEraser(database, tenant, receiptStatements(reach))
  const one = createCountQuery(database, tenant)
  return {
    async nextConversation(names, after) {
      const [row] = await database.query<{ id: string }>(ask.nextConversation, [tenant, whom(names), after])
      return row?.id
    },
    stop: (names, conversation) =>
      database.transaction(async (sql) => {
        await sql.query(lockTurns, [tenant, conversation])
        await sql.query(lockSends, [tenant, conversation])
        const [row] = await sql.query<PartialErasedCounts & { isAlone: boolean }>(ask.stop, [
          tenant,
          whom(names),
          conversation,
        ])
        if (row === undefined) throw new RangeError('a count is always one row')
        return row
      }),
    eraseLines: (names, conversation) =>
      one<PartialErasedCounts>(ask.forgetLines, whom(names), conversation, eraseBatchSize),
    async eraseRuns(names, conversation) {
      return (await database.query(ask.forgetRuns, [tenant, whom(names), conversation, eraseBatchSize])).length
    },
    eraseTurns: (names, conversation) =>
      one<PartialErasedCounts>(ask.forgetTurns, whom(names), conversation, eraseBatchSize),
    leave: (names, conversation) => one<PartialErasedCounts>(ask.leave, whom(names), conversation),
    eraseReceipts: (names, after) => eraseReceipts(whom(names), after),
  }
}

/** One page of receipts, whichever of them the statements look at. */
export function receiptEraser(
  database: Database,
  tenant: string,
  { lockAnswers, forgetReceiptPage }: ReceiptStatements,
): (whom: string, after: string | null) => Promise<ReceiptPage> {
  return (whom, after) =>
    database.transaction(async (sql) => {
      const params = [tenant, whom, after, pageRows]
      await sql.query(lockAnswers, params)
      const [page] = await sql.query<Page>(forgetReceiptPage, params)
      if (page === undefined) throw new RangeError('a count is always one row')
      return toReceiptPage(page)
    })
}

function toReceiptPage({ last, looked, ...removed }: Page): ReceiptPage {
  return { removed, next: looked < pageRows ? null : last }
}

/** Asks for counts, which are always one row. */
export function createCountQuery(
  database: Database,
  tenant: string,
): <Row>(asked: Statement, ...params: Param[]) => Promise<Row> {
  return async <Row>(asked: Statement, ...params: Param[]) => {
    const [row] = await database.query<Row>(asked, [tenant, ...params])
    if (row === undefined) throw new RangeError('a count is always one row')
    return row
  }
}

export function createEraseStore(database: Database, tenant: string): EraseStore {
  const one = createCountQuery(database, tenant)
  return {
    async namesOf(principal) {
      return (await database.query<{ name: string }>(namesOf, [tenant, principal])).map(({ name }) => name)
    },
    count: (names) => one<PartialErasedCounts>(countPerson, storableJson(names)),
    countReceipts: async (names, after) =>
      toReceiptPage(await one<Page>(countReceiptPage, storableJson(names), after, pageRows)),
    ...createWalk(database, tenant, aPerson, storableJson),
    eraseOverheard: (names) => one<PartialErasedCounts>(erasePersonAmbient, storableJson(names)),
    erasePairings: (names) => one<PartialErasedCounts>(erasePersonPairings, storableJson(names)),
    eraseAttachments: (names) => one<PartialErasedCounts>(erasePersonAttachments, storableJson(names), eraseBatchSize),
    eraseWritten: (names) => one<PartialErasedCounts>(erasePersonRecords, storableJson(names)),
    close: (names, { actor, next, removed }) =>
      one<PartialErasedCounts>(
        erasePersonNames,
        storableJson(names),
        actor,
        next === null ? 'done' : 'begun',
        storableJson(removed),
      ),
  }
}
