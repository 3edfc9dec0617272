// What an agent may be given, what is put right on the way, what is refused and with which code.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { NormalizedMessage } from '../../../src/contract/index.ts'
import { toPromptParts } from '../../../src/contract/parts.ts'
import { type ValidationScope, validateMessage } from '../../../src/contract/validate-message.ts'
import { cleanName, cleanText } from '../../../src/lib/clean-text.ts'
import { scaled } from '../../setup/scale.ts'

const adapter: ValidationScope = {
  from: 'adapter',
  receivedVia: new Set(['signed-webhook']),
  authMethods: new Set(['webhook-signature']),
}
const evidence = {
  subject: 'U1',
  issuer: 'urn:example:workspace',
  method: 'urn:gw:auth:webhook:v1',
  assurance: 'platform-account',
  audience: '@agent@verse8.io',
  issued_at: '2026-11-16T10:00:00Z',
  proof: { type: 'transport', verified_by: 'adapter' },
}
const sender = {
  address: '@u1@chat.gw.example',
  auth_method: 'webhook-signature',
  verified: true,
  identities: [evidence],
}
const text = { kind: 'text', mime: 'text/plain', content: 'hello' }
const valid = {
  id: 'm1',
  thread_id: 't1',
  sender,
  recipient: '@agent@verse8.io',
  parts: [text],
  recipient_capabilities: { mention_relay: { kind: 'inline' } },
  received_via: 'signed-webhook',
  received_at: '2026-11-16T10:00:00.000Z',
  raw: { any: 'thing' },
}
const turn = (timestamp: string, content: string, role = 'user') => ({
  role,
  sender,
  parts: [{ ...text, content }],
  timestamp,
})
const file = (bytes_ref: unknown) => ({ kind: 'file', bytes_ref })

function accepted(input: unknown, scope = adapter): NormalizedMessage {
  const result = validateMessage(input, scope)
  expect(result).toMatchObject({ ok: true })
  if (!result.ok) throw new Error(result.code)
  return result.message
}

test('a complete message passes unchanged', () => {
  expect(validateMessage(valid, adapter)).toEqual({ ok: true, message: valid, warnings: [] })
})

describe('a message is refused', () => {
  test.each([
    { id: 'NM-01', change: { parts: [] }, code: 'NM_PARTS_EMPTY' },
    { id: 'NM-02', change: { recipient_capabilities: undefined }, code: 'NM_CAPABILITIES_MISSING' },
    { id: 'NM-02', change: { recipient_capabilities: {} }, code: 'NM_CAPABILITIES_MISSING' },
    {
      id: 'NM-03',
      change: {
        recipient_capabilities: { mention_relay: { kind: 'addressing', envelope_fields: ['to'], also_inline: false } },
      },
      code: 'NM_RELAY_INVALID',
    },
    {
      id: 'NM-03',
      change: { recipient_capabilities: { mention_relay: { kind: 'recipient-field', fields: [] } } },
      code: 'NM_RELAY_INVALID',
    },
    { id: 'NM-04', change: { sender: { ...sender, auth_method: 'none' } }, code: 'NM_AUTH_INCONSISTENT' },
    {
      id: 'NM-04',
      change: { sender: { address: sender.address, auth_method: 'none', verified: true } },
      code: 'NM_AUTH_INCONSISTENT',
    },
    { id: 'NM-05', change: { sender: { ...sender, identities: undefined } }, code: 'NM_AUTH_INCONSISTENT' },
    { id: 'NM-05', change: { sender: { ...sender, identities: [] } }, code: 'NM_AUTH_INCONSISTENT' },
    { id: 'NM-06', change: { parts: [{ ...text, mime: 'text/rtf' }] }, code: 'NM_TEXT_MIME' },
    { id: 'NM-07', change: { parts: [file({ kind: 'url', url: 'http://x.example/a' })] }, code: 'NM_BYTESREF_INVALID' },
    { id: 'NM-07', change: { parts: [file({ kind: 'inline', data_base64: 'a' })] }, code: 'NM_BYTESREF_INVALID' },
    { id: 'NM-07', change: { parts: [file({ kind: 'ftp' })] }, code: 'NM_BYTESREF_INVALID' },
    {
      id: 'NM-07',
      change: { parts: [file({ kind: 'content_addressed', algo: 'sha256', digest: 'AB' })] },
      code: 'NM_BYTESREF_INVALID',
    },
    { id: 'NM-12', change: { received_at: '2026-11-16T19:00:00+09:00' }, code: 'NM_TIME_INVALID' },
    { id: 'NM-12', change: { received_at: 'yesterday' }, code: 'NM_TIME_INVALID' },
    { id: 'NM-13', change: { received_via: 'rest' }, code: 'NM_VIA_UNKNOWN' },
    { id: '3.8', change: { id: '' }, code: 'NM_ID_MISSING' },
    { id: '3.8', change: { id: 'a\u0000b' }, code: 'NM_ID_MISSING' },
    { id: '3.8', change: { thread_id: undefined }, code: 'NM_THREAD_MISSING' },
    { id: '3.8', change: { thread_id: 'a\u0000b' }, code: 'NM_THREAD_MISSING' },
    { id: '3.8', change: { recipient: 'agent@verse8.io' }, code: 'NM_RECIPIENT_INVALID' },
    { id: '3.8', change: { recipient: '@agent+x@verse8.io' }, code: 'NM_RECIPIENT_INVALID' },
    { id: '3.8', change: { sender: undefined }, code: 'NM_SENDER_ADDRESS_INVALID' },
    { id: '3.8', change: { sender: { ...sender, address: 'u1' } }, code: 'NM_SENDER_ADDRESS_INVALID' },
    { id: '3.8', change: { sender: { ...sender, auth_method: 'guess' } }, code: 'NM_AUTH_INCONSISTENT' },
    { id: '3.8', change: { sender: { ...sender, profile: 'me' } }, code: 'NM_MALFORMED' },
    { id: '3.8', change: { parts: [{ kind: 'link' }] }, code: 'NM_PART_INVALID' },
    { id: '3.8', change: { parts: Array.from({ length: 65 }, () => text) }, code: 'NM_PART_INVALID' },
    { id: '3.8', change: { parts: [{ ...text, content: 'x'.repeat(1024 * 1024 + 1) }] }, code: 'NM_PART_INVALID' },
    ...[
      { hop: 0, max_hops: 4, is_final: false },
      { hop: 5, max_hops: 4, is_final: false },
      { hop: 2, max_hops: 4, is_final: true },
    ].map((agent_chain) => ({
      id: '3.8',
      change: { recipient_capabilities: { mention_relay: { kind: 'none' }, agent_chain } },
      code: 'NM_CHAIN_INVALID',
    })),
  ])('$id with $code', ({ change, code }) => {
    expect(validateMessage({ ...valid, ...change }, adapter)).toMatchObject({ ok: false, code })
  })

  test.each([null, undefined, 7, 'text', [], [valid]])('when it is no object at all: %j', (input) => {
    expect(validateMessage(input, adapter).ok).toBe(false)
  })
})

describe('a message is understood', () => {
  test('NM-09 an unknown kind is kept in storage and named in the prompt', () => {
    const sticker = { kind: 'sticker', emoji: '🎉', set: { id: 7 } }
    const message = accepted({ ...valid, parts: [text, sticker] })
    expect(message.parts).toEqual([text, sticker])
    expect(toPromptParts(message.parts)).toEqual([
      text,
      { kind: 'text', mime: 'text/plain', content: '[unsupported content: sticker]' },
    ])
  })

  test('NM-10 a bare policy part is wrapped', () => {
    const bare = { kind: 'forbidden', message: 'not for you' }
    expect(accepted({ ...valid, parts: [bare] }).parts).toEqual([{ kind: 'policy', policy: bare }])
  })

  test('NM-11 history out of order is sorted, stably and with a warning', () => {
    const first = turn('2026-11-16T09:00:00Z', 'first')
    const second = turn('2026-11-16T09:30:00Z', 'second')
    const twin = turn('2026-11-16T09:30:00Z', 'second, too', 'assistant')
    const result = validateMessage({ ...valid, history: [second, first, twin] }, adapter)
    expect(result).toMatchObject({
      ok: true,
      warnings: ['NM_HISTORY_ORDER'],
      message: { history: [first, second, twin] },
    })
  })

  test('NM-11 a turn without a readable time keeps its place', () => {
    const history = [
      turn('?', 'a'),
      turn('2026-11-16T09:00:00Z', 'b'),
      turn('soon', 'c'),
      turn('2026-11-16T09:30:00Z', 'd'),
    ]
    expect(validateMessage({ ...valid, history }, adapter)).toMatchObject({ warnings: [], message: { history } })
  })

  test('a turn of a foreign role is dropped with a warning', () => {
    const kept = turn('2026-11-16T09:00:00Z', 'kept')
    const result = validateMessage({ ...valid, history: [turn('2026-11-16T08:00:00Z', 'x', 'system'), kept] }, adapter)
    expect(result).toMatchObject({ ok: true, warnings: ['NM_HISTORY_ROLE'], message: { history: [kept] } })
  })

  test('NM-13 a stored message of an unknown transport is readable', () => {
    expect(accepted({ ...valid, received_via: 'rest' }, { from: 'storage' }).received_via).toBe('rest')
  })

  test('a policy resolution that nobody verified is stripped with a warning', () => {
    const claimed = { ...valid, policy_resolution: { state: 's' } }
    expect(validateMessage(claimed, adapter)).toEqual({
      ok: true,
      message: valid,
      warnings: ['NM_RESOLUTION_UNTRUSTED'],
    })
    expect(accepted(claimed, { ...adapter, resolutionVerified: true }).policy_resolution).toEqual({ state: 's' })
  })
})

/** As many marks as stand together (UAX #15, 13). */
const separated = `${'\u0316'.repeat(30)}\u034f`

describe('names and text are cleaned', () => {
  const hostile = '\u202ecod.exe\u202c \u2066x\u2069\u0007'

  test('NM-16 every name a sender gives is stripped of direction and control characters', () => {
    const named = { ...sender, display_name: hostile, profile: { display_name: hostile, username: hostile } }
    const message = accepted({
      ...valid,
      sender: named,
      history: [{ ...turn('2026-11-16T09:00:00Z', 'a'), sender: named }],
    })
    const clean = { display_name: 'cod.exe x', profile: { display_name: 'cod.exe x', username: 'cod.exe x' } }
    expect(message.sender).toEqual({ ...sender, ...clean })
    expect(message.history?.[0]?.sender).toEqual({ ...sender, ...clean })
  })

  test.each([
    { what: 'a line break becomes a space', name: 'Ann\r\nAdmin', clean: 'Ann Admin' },
    { what: 'the marks of Hebrew and Arabic stay', name: 'דנה\u200f!', clean: 'דנה\u200f!' },
    { what: 'a joined emoji is kept whole', name: '👩‍👩‍👧', clean: '👩‍👩‍👧' },
    { what: '256 units fit', name: 'a'.repeat(256), clean: 'a'.repeat(256) },
    { what: 'more do not', name: 'a'.repeat(257), clean: 'a'.repeat(256) },
    { what: 'the cut is between graphemes', name: `${'a'.repeat(250)}👩‍👩‍👧`, clean: 'a'.repeat(250) },
    {
      what: 'one endless grapheme is cut, too',
      name: `e${'\u0316'.repeat(9000)}`,
      clean: `e${separated.repeat(9)}`.slice(0, 256),
    },
    { what: 'letters meet their accents', name: 'e\u0007\u0301', clean: '\u00e9' },
    { what: 'half a pair is replaced', name: 'a\ud83d', clean: 'a\ufffd' },
  ])('NM-16 $what', ({ name, clean }) => {
    expect(cleanName(name)).toBe(clean)
  })

  test('NM-16 any name comes out short, well formed, and the same the second time', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 600 }), (name) => {
        const clean = cleanName(name)
        expect(clean.length).toBeLessThanOrEqual(256)
        expect(clean.isWellFormed()).toBe(true)
        expect(clean).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/)
        expect(cleanName(clean)).toBe(clean)
      }),
      { numRuns: scaled(300) },
    )
  })

  test('text is composed, loses NUL, and keeps no half pair', () => {
    expect(cleanText('Cafe\u0301\u0000 \ud83d ok\n\t')).toBe('Café \ufffd ok\n\t')
    const message = accepted({
      ...valid,
      parts: [{ ...text, content: 'a\u0000b' }],
      history: [turn('2026-11-16T09:00:00Z', 'x\udc00')],
    })
    expect(message.parts).toEqual([{ ...text, content: 'ab' }])
    expect(message.history?.[0]?.parts).toEqual([{ ...text, content: 'x\ufffd' }])
  })

  test('the input itself is left as it came', () => {
    const input = structuredClone({
      ...valid,
      parts: [{ ...text, content: 'a\u0000b' }],
      sender: { ...sender, display_name: hostile },
    })
    const before = structuredClone(input)
    accepted(input)
    expect(input).toEqual(before)
  })
})
