// What is stored and shown of parameters, and what never is.
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { isSensitiveKey, redactParameters } from '../../../../src/agents/tools/redact.ts'
import { sha256OfJson, stableStringify } from '../../../../src/lib/index.ts'

const secret = 'zq-SECRET-qz'
/** Keys without dots and stars: those mean something in a declared path. */
const keys = fc.string({ minLength: 1, maxLength: 8 }).filter((key) => !/[.*]/.test(key) && key.trim() === key)

test.each([
  'token',
  'api_key',
  'apiKey',
  'X-Api-Key',
  'APIKEY',
  'userpassword',
  'password_confirmation',
  'Authorization',
  'accessToken',
  'refresh_token',
  'csrf-token',
  'clientSecret',
  'aws_secret_access_key',
  'Set-Cookie',
  'nonce',
  'session_id',
  'sessionId',
  'private_key_pem',
  'credentials',
  'bearer',
  'id_token',
  'webhook_token',
  'idToken',
])('%s is a secret by its name', (key) => expect(isSensitiveKey(key)).toBe(true))

test.each([
  'max_tokens',
  'maxTokens',
  'next_page_token',
  'nextPageToken',
  'continuation_token',
  'prompt_tokens',
  'tokens',
  'secretary',
  'tokenizer',
  'token_count',
  'cookiecutter',
  'announcement',
  'author',
  'key',
  'session',
  'valid_to',
])('%s is no secret by its name', (key) => expect(isSensitiveKey(key)).toBe(false))

test('a key of a million capitals is judged at once', () => {
  expect(isSensitiveKey('A'.repeat(1_000_000))).toBe(false)
})

test('a value at a declared path never shows, wherever the path leads', () => {
  const path = fc.array(fc.oneof(keys, fc.constant('*')), { minLength: 1, maxLength: 5 })
  fc.assert(
    fc.property(path, fc.dictionary(keys, fc.jsonValue()), (segments, others) => {
      const inner = segments
        .slice(1)
        .reduceRight<unknown>((value, segment) => (segment === '*' ? [value] : { [segment]: value }), {
          deep: [secret],
        })
      const first = segments[0] === '*' ? 'list' : (segments[0] ?? '')
      const declared = { sensitive_parameters: [[first, ...segments.slice(1)].join('.')] }
      const shown = redactParameters({ ...others, [first]: inner }, declared)
      expect(JSON.stringify(shown)).not.toContain(secret)
    }),
  )
})

test.each([
  ['sensitive', { sensitive: true }],
  ['x-sensitive', { 'x-sensitive': true }],
  ['secret', { secret: true }],
  ['writeOnly', { writeOnly: true }],
  ['a password format', { format: 'password' }],
  ['an alternative', { anyOf: [{ type: 'null' }, { format: 'password' }] }],
  ['a reference', { $ref: '#/$defs/hidden' }],
])('%s in the schema hides a value, also inside lists', (_name, flagged) => {
  const parameters = {
    properties: { pin: flagged, list: { items: { properties: { pin: flagged } } } },
    additionalProperties: flagged,
    $defs: { hidden: { sensitive: true } },
  }
  const shown = redactParameters({ pin: secret, list: [{ pin: secret, open: 1 }], other: secret }, { parameters })
  expect(shown).toEqual({ list: [{ open: 1, pin: '[redacted]' }], other: '[redacted]', pin: '[redacted]' })
})

test('graded sensitivity and sensitive bindings hide, public grades do not', () => {
  const declared = {
    parameter_sensitivity: { a: 'high', b: 'public', c: true, d: false },
    parameter_bindings: { e: { source: 'context', path: 'e', sensitive: true } },
  }
  expect(redactParameters({ a: 1, b: 2, c: 3, d: 4, e: 5 }, declared)).toEqual({
    a: '[redacted]',
    b: 2,
    c: '[redacted]',
    d: 4,
    e: '[redacted]',
  })
})

test('keys come out sorted, and what is too deep to judge is hidden', () => {
  const deep = JSON.parse(`${'{"a":'.repeat(80)}"${secret}"${'}'.repeat(80)}`)
  expect(Object.keys(redactParameters({ b: 1, a: 2 }))).toEqual(['a', 'b'])
  expect(JSON.stringify(redactParameters(deep))).not.toContain(secret)
})

test('__proto__ is a key like any other', () => {
  const shown = redactParameters(JSON.parse('{"__proto__":{"password":"x"}}'))
  expect(JSON.stringify(shown)).toBe('{"__proto__":{"password":"[redacted]"}}')
  expect(Object.getPrototypeOf(shown)).toBe(Object.prototype)
})

test('equal values have one canonical text, whatever the order of their keys', () => {
  const shuffled = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(shuffled)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(
      Object.entries(value)
        .toReversed()
        .map(([key, item]) => [key, shuffled(item)]),
    )
  }
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(stableStringify(shuffled(value))).toBe(stableStringify(value))
      expect(JSON.parse(stableStringify(value))).toEqual(JSON.parse(JSON.stringify(value)))
    }),
  )
})

test('the canonical text sorts by code units, keeps lists, and its hash is pinned', async () => {
  expect(stableStringify({ b: [2, 1], a: { é: 1, Z: undefined, '10': 1, '9': 2 } })).toBe(
    '{"a":{"10":1,"9":2,"é":1},"b":[2,1]}',
  )
  expect(await sha256OfJson({})).toBe('sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a')
})
