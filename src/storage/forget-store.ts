// Forgetting on SQL.
import type { ForgetStore, Part, ReceiptPage } from '../identity/forget/forget-store.ts'
import type { Database, Param, Statement } from './database.ts'
import {
  forgetLines,
  forgetRuns,
  forgetTurns,
  leaveConversation,
  lockSends,
  lockTurns,
  namesOf,
  nextConversation,
  stopPerson,
} from './statements/forget.ts'
import {
  countPerson,
  countReceiptPage,
  forgetAttachments,
  forgetNames,
  forgetOverheard,
  forgetPairings,
  forgetReceiptPage,
  forgetWritten,
  lockAnswers,
} from './statements/forget-traces.ts'
import { storableJson } from './storable-json.ts'

const batch = 500
/** Receipts looked at in one statement; few of them are the person's. */
const pageRows = 5_000

type Page = { readonly last: string | null; readonly receipts: number; readonly looked: number } & Part

export function createForgetStore(database: Database, tenant: string): ForgetStore {
  const one = async <Row>(asked: Statement, names: readonly string[], ...more: Param[]): Promise<Row> => {
    const [row] = await database.query<Row>(asked, [tenant, storableJson(names), ...more])
    if (row === undefined) throw new RangeError('a count is always one row')
    return row
  }
  const pageOf = ({ last, looked, ...removed }: Page): ReceiptPage => ({
    removed,
    next: looked < pageRows ? null : last,
  })
  return {
    async namesOf(principal) {
      return (await database.query<{ name: string }>(namesOf, [tenant, principal])).map(({ name }) => name)
    },
    count: (names) => one<Part>(countPerson, names),
    async nextConversation(names, after) {
      const [row] = await database.query<{ id: string }>(nextConversation, [tenant, storableJson(names), after])
      return row?.id
    },
    stop: (names, conversation) =>
      database.transaction(async (sql) => {
        await sql.query(lockTurns, [tenant, conversation])
        await sql.query(lockSends, [tenant, conversation])
        const params = [tenant, storableJson(names), conversation]
        const [row] = await sql.query<Part & { isAlone: boolean }>(stopPerson, params)
        if (row === undefined) throw new RangeError('a count is always one row')
        return row
      }),
    eraseLines: (names, conversation) => one<Part>(forgetLines, names, conversation, batch),
    async eraseRuns(names, conversation) {
      return (await database.query(forgetRuns, [tenant, storableJson(names), conversation, batch])).length
    },
    eraseTurns: (names, conversation) => one<Part>(forgetTurns, names, conversation, batch),
    leave: (names, conversation) => one<Part>(leaveConversation, names, conversation),
    eraseOverheard: (names) => one<Part>(forgetOverheard, names),
    erasePairings: (names) => one<Part>(forgetPairings, names),
    eraseReceipts: (names, after) =>
      database.transaction(async (sql) => {
        const params = [tenant, storableJson(names), after, pageRows]
        await sql.query(lockAnswers, params)
        const [page] = await sql.query<Page>(forgetReceiptPage, params)
        if (page === undefined) throw new RangeError('a count is always one row')
        return pageOf(page)
      }),
    countReceipts: async (names, after) => pageOf(await one<Page>(countReceiptPage, names, after, pageRows)),
    eraseAttachments: (names) => one<Part>(forgetAttachments, names, batch),
    eraseWritten: (names) => one<Part>(forgetWritten, names),
    close: (names, { actor, isDone, removed }) =>
      one<Part>(forgetNames, names, actor, isDone ? 'done' : 'begun', storableJson(removed)),
  }
}
