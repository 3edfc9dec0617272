// The form a structured answer must have: as the model is told it, and as it is checked.
import * as z from 'zod'
import { type Fields, GatewayError } from '../contract/index.ts'
import { isPlainObject } from './fields.ts'
import type { StructuredOutputRequest } from './loop/model.ts'
import { validateArguments } from './tools/validate-arguments.ts'

/** A zod schema, or a JSON Schema. */
export type OutputSchema = z.ZodType | Fields

export type OutputForm = {
  readonly request: StructuredOutputRequest
  /** What does not fit, in words that name places and types. None: it fits. */
  readonly faultsOf: (value: unknown) => Promise<readonly string[]>
}

export function outputForm(slug: string, given: OutputSchema): OutputForm {
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
