// JSON as a type: what may be stored, logged as a call, or handed over a wire.
import * as z from 'zod'

export type Json = null | boolean | number | string | readonly Json[] | JsonObject
export type JsonObject = { readonly [key: string]: Json }

/** The fields of an object, whose values are not known yet. */
export type Fields = Readonly<Record<string, unknown>>

export const jsonSchema: z.ZodType<Json> = z.json()
