// Forgetting on SQL.
import type { ForgetStore, Part, ReceiptPage } from '../identity/forget/forget-store.ts'
import type { Database, Param, Statement } from './database.ts'
import { conversationStatements, lockSends, lockTurns, namesOf } from './statements/forget.ts'
import { aPerson, type Reach } from './statements/forget-reach.ts'
import { countReceiptPage, type ReceiptStatements, receiptStatements } from './statements/forget-receipts.ts'
import {
  countPerson,
  forgetAttachments,
  forgetNames,
  forgetOverheard,
  forgetPairings,
  forgetWritten,
} from './statements/forget-traces.ts'
import { storableJson } from './storable-json.ts'

/** Rows erased in one statement. */
export const forgetBatch = 500
/** Receipts looked at in one statement; few of them are the person's. */
const pageRows = 5_000

type Page = { readonly last: string | null; readonly receipts: number; readonly looked: number } & Part

type Walk = Pick<
  ForgetStore,
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
  const one = countsOf(database, tenant)
  return {
    async nextConversation(names, after) {
      const [row] = await database.query<{ id: string }>(ask.nextConversation, [tenant, whom(names), after])
      return row?.id
    },
    stop: (names, conversation) =>
      database.transaction(async (sql) => {
        await sql.query(lockTurns, [tenant, conversation])
        await sql.query(lockSends, [tenant, conversation])
        const [row] = await sql.query<Part & { isAlone: boolean }>(ask.stop, [tenant, whom(names), conversation])
        if (row === undefined) throw new RangeError('a count is always one row')
        return row
      }),
    eraseLines: (names, conversation) => one<Part>(ask.forgetLines, whom(names), conversation, forgetBatch),
    async eraseRuns(names, conversation) {
      return (await database.query(ask.forgetRuns, [tenant, whom(names), conversation, forgetBatch])).length
    },
    eraseTurns: (names, conversation) => one<Part>(ask.forgetTurns, whom(names), conversation, forgetBatch),
    leave: (names, conversation) => one<Part>(ask.leave, whom(names), conversation),
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
      return pageOf(page)
    })
}

function pageOf({ last, looked, ...removed }: Page): ReceiptPage {
  return { removed, next: looked < pageRows ? null : last }
}

/** Asks for counts, which are always one row. */
export function countsOf(
  database: Database,
  tenant: string,
): <Row>(asked: Statement, ...params: Param[]) => Promise<Row> {
  return async <Row>(asked: Statement, ...params: Param[]) => {
    const [row] = await database.query<Row>(asked, [tenant, ...params])
    if (row === undefined) throw new RangeError('a count is always one row')
    return row
  }
}

export function createForgetStore(database: Database, tenant: string): ForgetStore {
  const one = countsOf(database, tenant)
  return {
    async namesOf(principal) {
      return (await database.query<{ name: string }>(namesOf, [tenant, principal])).map(({ name }) => name)
    },
    count: (names) => one<Part>(countPerson, storableJson(names)),
    countReceipts: async (names, after) =>
      pageOf(await one<Page>(countReceiptPage, storableJson(names), after, pageRows)),
    ...createWalk(database, tenant, aPerson, storableJson),
    eraseOverheard: (names) => one<Part>(forgetOverheard, storableJson(names)),
    erasePairings: (names) => one<Part>(forgetPairings, storableJson(names)),
    eraseAttachments: (names) => one<Part>(forgetAttachments, storableJson(names), forgetBatch),
    eraseWritten: (names) => one<Part>(forgetWritten, storableJson(names)),
    close: (names, { actor, next, removed }) =>
      one<Part>(forgetNames, storableJson(names), actor, next === null ? 'done' : 'begun', storableJson(removed)),
  }
}
