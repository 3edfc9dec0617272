// What is kept of a message whose sender is not admitted.
import { expect, test } from 'vitest'
import type { InboundMessage, Part } from '../../../src/contract/index.ts'
import { textOf } from '../../../src/contract/index.ts'
import { resendOmittedContentNotice } from '../../../src/identity/pairing.ts'
import { isLargeOrHasFiles, maxStrangerBytes, trimStrangerMessage } from '../../../src/inbound/stored-copy.ts'

const text = (content: string): Part => ({ kind: 'text', mime: 'text/plain', content })
const file = (name: string, data = 'aGVsbG8='): Part => ({
  kind: 'file',
  bytes_ref: { kind: 'inline', data_base64: data },
  mime: 'text/plain',
  name,
})

function arrived(parts: Part[], more: Partial<InboundMessage> = {}): InboundMessage {
  return {
    kind: 'message',
    agent: 'demo',
    semanticId: 'm1',
    version: '0',
    isSenderChosenId: true,
    thread: { candidates: [], platformVerified: false, newThreadKey: 't' },
    replyTo: {},
    message: {
      id: 'm1',
      thread_id: 't1',
      sender: { verified: false, identities: [] } as unknown as InboundMessage['message']['sender'],
      recipient: '@demo@parley.localhost',
      parts,
      recipient_capabilities: { mention_relay: { kind: 'none' } },
      received_via: 'email',
      received_at: '2026-11-17T12:00:00.000Z',
      raw: { all: 'x'.repeat(100_000) },
    },
    ...more,
  }
}

const bytesOf = (value: unknown): number => new TextEncoder().encode(JSON.stringify(value)).byteLength

test('a short text without files stays as it is', () => {
  const small = trimStrangerMessage(arrived([text('hello')]))
  expect(small.message.parts).toEqual([text('hello')])
  expect(small.omitted).toBeUndefined()
})

test('text is cut after 8 KB of UTF-8, between characters, and the agent reads that it was', () => {
  const small = trimStrangerMessage(arrived([text('😀'.repeat(5_000)), text('more')]))
  expect(textOf(small.message.parts.slice(0, 1)).isWellFormed()).toBe(true)
  expect(bytesOf(small.message.parts)).toBeLessThan(maxStrangerBytes + 512)
  expect(small.omitted).toEqual({ files: [], more_files: 0, is_text_cut: true })
  expect(textOf(small.message.parts)).toContain('[the rest of this message: not kept')
})

test('files go, with their bytes and the original, and at most ten are named', () => {
  const parts = Array.from({ length: 40 }, (_, at) => file(`f${at}.txt${'n'.repeat(300)}`, 'A'.repeat(40_000)))
  const toKeep = { ref: 'r', id: 'd', mime: 'message/rfc822', bytes: new Uint8Array(1_000_000) }
  const small = trimStrangerMessage(arrived(parts, { rawBlobs: ['r'], pendingBlob: toKeep }))
  expect([small.rawBlobs, small.pendingBlob]).toEqual([undefined, undefined])
  expect(small.message.parts.every((part) => part.kind === 'text')).toBe(true)
  expect(small.omitted).toMatchObject({ more_files: 30, is_text_cut: false })
  expect(bytesOf(small)).toBeLessThan(8_000)
})

test('what stands beside the words is small as well: calls of tools, links, history, mentions, the task, the raw form', () => {
  const long = 'y'.repeat(50_000)
  const channel = {
    connector_id: 'c',
    external_provider: 'p',
    external_conversation_id: null,
    external_message_id: null,
    sender_id: null,
    room_kind: 'dm',
    from_self: false,
    addressed: 'dm',
    visibility: 'private',
    event: 'new',
    mentions: Array.from({ length: 500 }, () => ({ text: long.slice(0, 100) })),
    client_tools: [{ description: long }],
    command: { name: 'new', args: long },
  } as const
  const call: Part = { kind: 'tool_call', id: '1', name: 'x', args: { long } }
  const given = arrived([
    call,
    { kind: 'link', url: `https://a.example/${long}` },
    { kind: 'new_kind', long },
    text('hi'),
  ])
  const message = {
    ...given.message,
    channel: structuredClone(channel) as never,
    history: [],
    policy_resolution: { long },
  }
  const task = { contextId: 'c', dialect: '1.0', payload: { long } } as unknown as NonNullable<InboundMessage['task']>
  const small = trimStrangerMessage({ ...given, message, task })
  expect(bytesOf(small)).toBeLessThan(3_000)
  expect(textOf(small.message.parts)).toContain('hi')
})

test('what is large or has files is looked at before it is stored', () => {
  expect(isLargeOrHasFiles(arrived([text('hi')]), 100)).toBe(false)
  expect(isLargeOrHasFiles(arrived([text('hi')]), 9_000)).toBe(true)
  expect(isLargeOrHasFiles(arrived([file('a')]), 100)).toBe(true)
})

test('one sentence asks for what was left out', () => {
  const one = { files: ['a.pdf'], more_files: 0, is_text_cut: false }
  expect(resendOmittedContentNotice([])).toBeUndefined()
  expect(resendOmittedContentNotice([one])).toBe(
    'I could not keep a.pdf while I did not know you yet; please send it again.',
  )
  expect(resendOmittedContentNotice([one, { files: ['b.pdf'], more_files: 3, is_text_cut: true }])).toBe(
    'I could not keep a.pdf, b.pdf, 3 more files and the rest of your long message while I did not know you yet; please send them again.',
  )
})
