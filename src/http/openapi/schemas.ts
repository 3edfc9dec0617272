// Zod's JSON Schema as OpenAPI 3.1 wants it: what has a name stands once among the components and is referred to.
import * as z from 'zod'

export type Schema = { readonly [key: string]: unknown }

/** `input`: what may be sent. `output`: what is answered. */
export type Direction = 'input' | 'output'

export type Components = {
  readonly add: (schema: z.ZodType, direction: Direction) => Schema
  readonly all: () => Schema
}

export function createComponents(): Components {
  const named = new Map<string, Schema>()
  return {
    all: () => Object.fromEntries([...named].sort(([one], [other]) => (one < other ? -1 : 1))),
    add(schema, direction) {
      const {
        $schema: _dialect,
        $defs,
        id,
        ...rest
      } = z.toJSONSchema(schema, {
        io: direction,
        unrepresentable: 'any',
        // An answer may grow; only what is sent is closed.
        override: ({ jsonSchema }) => {
          if (direction === 'output' && jsonSchema.additionalProperties === false)
            delete jsonSchema.additionalProperties
        },
      }) as Schema & { readonly $defs?: Readonly<Record<string, Schema>>; readonly id?: string }
      const local = (name: string): string => (name.startsWith('__') ? 'Json' : name)
      for (const [name, { id: _id, ...part }] of Object.entries($defs ?? {}))
        named.set(local(name), withComponentRefs(part, local) as Schema)
      const whole = withComponentRefs(rest, local) as Schema
      if (typeof id !== 'string') return whole
      named.set(id, whole)
      return { $ref: `#/components/schemas/${id}` }
    },
  }
}

function withComponentRefs(value: unknown, local: (name: string) => string): unknown {
  if (Array.isArray(value)) return value.map((each) => withComponentRefs(each, local))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => {
      if (key !== '$ref' || typeof inner !== 'string') return [key, withComponentRefs(inner, local)]
      return [key, `#/components/schemas/${local(inner.replace('#/$defs/', ''))}`]
    }),
  )
}
