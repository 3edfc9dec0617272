// Pieces that the descriptions of the operator's routes are made of.
import * as z from 'zod'
import { doneSchema, pageQuery } from '../shapes/common.ts'
import type { Operation } from './operation.ts'

export const rows = z.array(z.looseObject({}))
export const row = z.looseObject({})
export const seqPage = z.object({
  limit: z.coerce.number().int().min(1).max(500).default(50),
  before: z.coerce.number().int().min(1).optional().meta({ description: 'The next of the page before' }),
  connection: z.string().optional().meta({ description: 'Only of this connection, as the books name it' }),
})
export const idPage = pageQuery(500)
export const done: Operation['answers'] = { 200: { what: 'Done', schema: doneSchema, example: { ok: true } } }

export const listed = (name: string, more: Readonly<Record<string, z.ZodType>> = {}): Operation['answers'] => ({
  200: {
    what: 'A page, and where the next one begins',
    schema: z.object({ [name]: rows, next: z.union([z.string(), z.number()]).nullable(), ...more }),
  },
})
export const holding = (name: string, schema: z.ZodType = row): Operation['answers'] => ({
  200: { what: 'What was asked for', schema: z.object({ [name]: schema }) },
})

/** An operator's route without what all of them have. */
export type Line = Pick<Operation, 'method' | 'path' | 'id' | 'summary' | 'answers'> & Partial<Operation>
