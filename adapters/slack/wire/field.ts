// Schemas of single fields in Slack's payloads.
import * as z from 'zod'
import { wireStringMatching } from '../../../src/lib/index.ts'

const idPattern = /^[A-Z0-9]{2,32}$/
/** An identifier that looks like a number and must never become one. */
const tsPattern = /^\d{1,12}\.\d{1,9}$/

export const id = z.string().regex(idPattern)
export const ts = z.string().regex(tsPattern)
/** The same for what is read before an acknowledgement, by plain rules. */
export const plainId = wireStringMatching(idPattern)
export const plainTs = wireStringMatching(tsPattern)

/** Slack leaves out, or says null. */
export function optionalField<T extends z.ZodType>(schema: T): z.ZodType<z.output<T> | undefined, unknown> {
  return schema.nullish().transform((value) => value ?? undefined) as z.ZodType<z.output<T> | undefined, unknown>
}

/** What is only shown or compared may be anything; then it is as if it were not there. */
export function lenientField<T extends z.ZodType>(schema: T): z.ZodType<z.output<T> | undefined, unknown> {
  return optionalField(schema).catch(undefined)
}
