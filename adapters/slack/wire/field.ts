// Schemas of single fields in Slack's payloads.
import * as z from 'zod'
import { textLike } from '../../../src/verification/index.ts'

const idPattern = /^[A-Z0-9]{2,32}$/
/** An identifier that looks like a number and must never become one. */
const tsPattern = /^\d{1,12}\.\d{1,9}$/

export const id = z.string().regex(idPattern)
export const ts = z.string().regex(tsPattern)
/** The same for what is read before an acknowledgement, by plain rules. */
export const plainId = textLike(idPattern)
export const plainTs = textLike(tsPattern)

/** Slack leaves out, or says null. */
export function maybe<T extends z.ZodType>(schema: T): z.ZodType<z.output<T> | undefined, unknown> {
  return schema.nullish().transform((value) => value ?? undefined) as z.ZodType<z.output<T> | undefined, unknown>
}

/** What is only shown or compared may be anything; then it is as if it were not there. */
export function lenient<T extends z.ZodType>(schema: T): z.ZodType<z.output<T> | undefined, unknown> {
  return maybe(schema).catch(undefined)
}
