// Reading single records: callers that ask while a statement is under way share the next one. That one begins after the question, so
// nothing is answered that was older than it.
import type { JsonObject } from '../contract/index.ts'
import type { Database } from './database.ts'
import { getRecord, getRecords } from './statements/records.ts'

export type ReadRecord = (family: string, key: string) => Promise<JsonObject | undefined>

type Question = { readonly family: string; readonly key: string } & PromiseWithResolvers<JsonObject | undefined>
type Owner = { readonly tenant: string; readonly connection: string }

const maxTogether = 100

export function createRecordReader(database: Database, { tenant, connection }: Owner): ReadRecord {
  let waiting: Question[] = []
  let isAsking = false
  const readSingleRecord = async ({ family, key, resolve, reject }: Question): Promise<void> => {
    try {
      const [row] = await database.query<{ value: JsonObject }>(getRecord, [tenant, connection, family, key])
      resolve(row?.value)
    } catch (error) {
      reject(error)
    }
  }
  const together = async (questions: readonly Question[]): Promise<void> => {
    try {
      const asked = JSON.stringify(questions.map(({ family, key }, ord) => ({ ord, family, key })))
      const rows = await database.query<{ ord: number; value: JsonObject }>(getRecords, [tenant, connection, asked])
      for (const { ord, value } of rows) questions[ord]?.resolve(value)
      for (const { resolve } of questions) resolve(undefined)
    } catch {
      // One key that the database cannot read takes no other question along.
      for (const question of questions) await readSingleRecord(question)
    }
  }
  const askAll = async (): Promise<void> => {
    isAsking = true
    while (waiting.length > 0) {
      const [first, ...others] = waiting.slice(0, maxTogether)
      waiting = waiting.slice(maxTogether)
      if (first !== undefined) await (others.length === 0 ? readSingleRecord(first) : together([first, ...others]))
    }
    isAsking = false
  }
  return (family, key) => {
    const question = { family, key, ...Promise.withResolvers<JsonObject | undefined>() }
    waiting.push(question)
    if (!isAsking) void askAll()
    return question.promise
  }
}
