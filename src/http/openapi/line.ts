// Pieces that the descriptions of the operator's routes are made of.
import * as z from 'zod'
import { doneSchema, pageQuerySchema } from '../shapes/common.ts'
import type { Operation } from './operation.ts'

export const rowsSchema = z.array(z.looseObject({}))
export const rowSchema = z.looseObject({})
export const seqPage = z.object({
  limit: z.coerce.number().int().min(1).max(500).default(50),
  before: z.coerce.number().int().min(1).optional().meta({ description: 'The next of the page before' }),
  connection: z.string().optional().meta({ description: 'Only of this connection, as the books name it' }),
})
export const idPage = pageQuerySchema(500)
export const doneAnswers: Operation['answers'] = { 200: { what: 'Done', schema: doneSchema, example: { ok: true } } }

export const listAnswers = (name: string, more: Readonly<Record<string, z.ZodType>> = {}): Operation['answers'] => ({
  200: {
    what: 'A page, and where the next one begins',
    schema: z.object({ [name]: rowsSchema, next: z.union([z.string(), z.number()]).nullable(), ...more }),
  },
})
export const itemAnswers = (name: string, schema: z.ZodType = rowSchema): Operation['answers'] => ({
  200: { what: 'What was asked for', schema: z.object({ [name]: schema }) },
})

/** An operator's route without what all of them have. */
export type AdminRoute = Pick<Operation, 'method' | 'path' | 'id' | 'summary' | 'answers'> & Partial<Operation>
