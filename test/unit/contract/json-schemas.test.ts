// The JSON Schemas in docs/spec, generated from the schemas of the code: `npm run schemas` writes them.
/// <reference types="vite/client" />
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { expect, test } from 'vitest'
import * as z from 'zod'
import { textEnvelope, toolCallEnvelope } from '../../../src/agents/messages.ts'
import { identityEvidenceSchema } from '../../../src/contract/evidence.ts'
import { envelopeSchema } from '../../../src/contract/gateway-events.ts'
import { historicalMessageSchema, normalizedMessageSchema } from '../../../src/contract/message.ts'
import { bytesRefSchema, partSchema } from '../../../src/contract/parts.ts'
import { senderSchema } from '../../../src/contract/sender.ts'
import { assistantEnvelope, userEnvelope } from '../../../src/sessions/transcript.ts'
import { aMessage } from '../../doubles/inbox-drafts.ts'

const dialect = 'https://json-schema.org/draft/2020-12/schema'

const documents = {
  'normalized-message.v1': {
    schema: normalizedMessageSchema,
    title: 'NormalizedMessage',
    description:
      'One message as every agent reads it, whatever channel it came through. docs/spec/message.md explains it.',
    // The original stays in the gateway: an agent behind an address is sent the message without it.
    optional: ['raw'],
  },
  'envelope.v1': {
    schema: envelopeSchema,
    title: 'Envelope',
    description: 'One stored line of a transcript. docs/spec/envelope.md explains it.',
    optional: [],
  },
} as const

/** Described once, under these names. */
const definitions = z.registry<{ id: string }>()
definitions.add(senderSchema, { id: 'Sender' })
definitions.add(identityEvidenceSchema, { id: 'IdentityEvidence' })
definitions.add(partSchema, { id: 'Part' })
definitions.add(bytesRefSchema, { id: 'BytesRef' })
definitions.add(historicalMessageSchema, { id: 'HistoricalMessage' })

type Name = keyof typeof documents
type JsonSchema = Readonly<Record<string, unknown>>

const names = Object.keys(documents) as readonly Name[]

/** What is written and read again: fields that later releases add are no fault, and a transform is described by what it takes. */
function toJsonSchema(name: Name): JsonSchema {
  const { schema, title, description, optional } = documents[name]
  const {
    $schema: _dialect,
    required,
    ...rest
  } = z.toJSONSchema(schema, {
    io: 'output',
    unrepresentable: 'any',
    metadata: definitions,
    override: ({ zodSchema, jsonSchema }) => {
      if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties
      const { def } = zodSchema._zod
      if (def.type !== 'pipe' || def.out._zod.def.type !== 'transform') return
      const { $schema: _nested, ...taken } = z.toJSONSchema(def.in, { io: 'output', unrepresentable: 'any' })
      Object.assign(jsonSchema, taken)
    },
  })
  const left: readonly string[] = optional
  const needed = (required ?? []).filter((field) => !left.includes(field))
  return { $schema: dialect, $id: `${name}.schema.json`, title, description, ...rest, required: needed }
}

const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true })
const validators: Readonly<Record<Name, ValidateFunction>> = {
  'normalized-message.v1': ajv.compile(toJsonSchema('normalized-message.v1')),
  'envelope.v1': ajv.compile(toJsonSchema('envelope.v1')),
}

type Captured = { readonly message?: unknown; readonly kind?: string }
type FixtureModule = {
  readonly fixtures: { readonly captured: readonly { readonly name: string; readonly arrived: unknown }[] }
}

const modules = import.meta.glob<FixtureModule>('../../fixtures/*/index.ts', { eager: true })

/** Every message that the adapters make of their captured payloads. */
const normalized = Object.entries(modules).flatMap(([path, { fixtures }]) =>
  fixtures.captured.flatMap(({ name, arrived }) =>
    [arrived].flat().flatMap((event) => {
      const { message } = event as Captured
      return message === undefined ? [] : [{ name: `${path.split('/').at(-2)}: ${name}`, message }]
    }),
  ),
)

test.for(names)('docs/spec/%s.schema.json is what the code validates by', async (name) => {
  const text = `${JSON.stringify(toJsonSchema(name), null, 2)}\n`
  await expect(text).toMatchFileSnapshot(`../../../docs/spec/${name}.schema.json`)
})

test('every channel has captured messages', () => {
  expect(new Set(normalized.map(({ name }) => name.split(':')[0])).size).toBe(Object.keys(modules).length)
})

test.for(normalized)('the message of $name fits the JSON Schema', ({ message }) => {
  const validate = validators['normalized-message.v1']
  validate(JSON.parse(JSON.stringify(message)))
  expect(validate.errors).toBeNull()
})

test('a message without a sender, or with a part that has no kind, does not fit', () => {
  const validate = validators['normalized-message.v1']
  const { sender: _sender, ...anonymous } = aMessage()
  expect(validate(anonymous)).toBe(false)
  expect(validate({ ...aMessage(), parts: [{ content: 'hello' }] })).toBe(false)
  expect(validate(aMessage())).toBe(true)
})

test('the lines that a transcript is made of fit the JSON Schema', () => {
  const validate = validators['envelope.v1']
  const facts = { runId: 'run-1' }
  const lines = [
    userEnvelope(aMessage(), facts),
    assistantEnvelope('demo@agents.example', [{ kind: 'text', mime: 'text/plain', content: 'done' }], {
      ...facts,
      at: '2026-01-31T08:00:00.000Z',
    }),
    textEnvelope('user', 'hello'),
    toolCallEnvelope('', { tool: 'host/ping', parameters: {}, turn: 1 }),
  ]
  for (const line of lines) {
    validate(JSON.parse(JSON.stringify(line)))
    expect(validate.errors).toBeNull()
  }
  expect(validate({ ...lines[0], type: 'poem' })).toBe(false)
})
