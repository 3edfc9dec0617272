// Structured output with any provider: the model is told the schema, its answer is parsed and checked, and it may try once more.
// What it wrote goes nowhere but back to itself.

import * as z from 'zod'
import { GatewayError } from '../../lib/errors.ts'
import { isPlainObject } from '../../lib/index.ts'
import type { Fields } from '../../lib/json-value.ts'
import { addUsage } from '../loop/conversation-result.ts'
import { textEnvelope } from '../messages.ts'
import { validateArguments } from '../tools/json-schema.ts'
import type { Model, ModelRequest, ModelTurn, StructuredOutputRequest } from './model.ts'

type Reading =
  | { readonly parsed: unknown }
  | { readonly fault: 'structured_output_invalid_json' | 'structured_output_schema_mismatch'; readonly note: string }

const told = {
  structured_output_invalid_json: 'The model did not answer with JSON.',
  structured_output_schema_mismatch: "The model's JSON does not fit its schema.",
} as const

export function wrapModelWithStructuredOutput(model: Model, { faultsOf }: Pick<OutputForm, 'faultsOf'>): Model {
  return async (request) => {
    const asked = { ...request, system: addSchemaInstructions(request) }
    const first = await model(asked)
    if (first.failure !== undefined) return first
    const reading = await readStructuredAnswer(first.content, faultsOf)
    if ('parsed' in reading) return addParsedOutput(first, reading.parsed)
    const again = [textEnvelope('assistant', first.content ?? ''), textEnvelope('user', reading.note, { hidden: true })]
    const second = await model({ ...asked, messages: [...request.messages, ...again] })
    const usage = addUsage(first.usage ?? {}, second.usage ?? {})
    if (second.failure !== undefined) return { ...second, usage }
    const last = await readStructuredAnswer(second.content, faultsOf)
    if ('parsed' in last) return addParsedOutput({ ...second, usage }, last.parsed)
    const { request_metadata } = second
    return {
      usage,
      ...(request_metadata === undefined ? {} : { request_metadata }),
      failure: { type: last.fault, message: told[last.fault], retryable: true },
    }
  }
}

/** Not every server is told the schema by its protocol; in words every one is. */
function addSchemaInstructions({ system, structuredOutput }: ModelRequest): string {
  const form = `Answer with JSON only, no other words, that fits this JSON Schema:\n${JSON.stringify(structuredOutput?.schema ?? {})}`
  return system === undefined ? form : `${system}\n\n${form}`
}

async function readStructuredAnswer(content: string | undefined, faultsOf: OutputForm['faultsOf']): Promise<Reading> {
  let parsed: unknown
  try {
    parsed = JSON.parse(stripCodeFence(content ?? ''))
  } catch {
    return { fault: 'structured_output_invalid_json', note: 'That was no JSON. Answer again with JSON only.' }
  }
  const faults = await faultsOf(parsed)
  if (faults.length === 0) return { parsed }
  const note = `That JSON does not fit the schema: ${faults.join('; ')}. Answer again with JSON only.`
  return { fault: 'structured_output_schema_mismatch', note }
}

/** Models like to put JSON into a code block. */
function stripCodeFence(text: string): string {
  return /^\s*```(?:json)?\s*\n([\s\S]*?)\n\s*```\s*$/.exec(text)?.[1] ?? text
}

function addParsedOutput(turn: ModelTurn, parsed: unknown): ModelTurn {
  const diagnostics = { status: 'parsed', parser: 'json', valid: true }
  return { ...turn, content: JSON.stringify(parsed), structured_output: { parsed, diagnostics } }
}

// The schema of a structured answer: as the model is told it, and as it is checked.

/** A zod schema, or a JSON Schema. */
export type OutputSchema = z.ZodType | Fields

type OutputForm = {
  readonly request: StructuredOutputRequest
  /** What does not fit, in words that name places and types. None: it fits. */
  readonly faultsOf: (value: unknown) => Promise<readonly string[]>
}

export function compileOutputSchema(slug: string, given: OutputSchema): OutputForm {
  const zod = isZodOutputSchema(given) ? given : undefined
  const schema = zod === undefined ? given : outputJsonSchema(zod)
  if (!isPlainObject(schema))
    throw new GatewayError('config_invalid', `[agent] "${slug}": output must be a zod schema or a JSON Schema`)
  return {
    request: { format: 'json_schema', schema, name: 'answer', strict: true },
    async faultsOf(value) {
      const faults = validateArguments(schema, value).map(({ path, message }) => `${path || 'the answer'} ${message}`)
      if (faults.length > 0 || zod === undefined) return faults
      // Checks that JSON Schema cannot express.
      const read = await zod.safeParseAsync(value)
      const issues = read.error?.issues.slice(0, 8) ?? []
      return issues.map(({ path, message }) => `${path.join('.') || 'the answer'}: ${message}`)
    },
  }
}

function isZodOutputSchema(schema: OutputSchema): schema is z.ZodType {
  return typeof schema === 'object' && schema !== null && '_zod' in schema
}

/** The input side is what the model writes: defaults and transformations come after it. */
function outputJsonSchema(schema: z.ZodType): Fields {
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
  return json
}
