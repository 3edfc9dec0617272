// What sending a mail needs, in memory: tokens that can be read, notes, files, and the reply of an agent to one person's mail.

import type { DeliveryDeps, DeliverySettings } from '../../adapters/email/deliver/settings.ts'
import type { Attempt, FileSource, NormalizedResponse } from '../../src/contract/index.ts'
import { createWebHmac } from '../../src/lib/index.ts'
import type { JsonObject } from '../../src/lib/json-value.ts'
import { memoryNotes } from './memory-ttl-store.ts'
import { emailSay } from './say.ts'

export const now = Date.parse('2026-11-17T12:00:00.000Z')
export const threadKey = 'abcdefghijklmnop'

export const replyTo: JsonObject = {
  address: 'ann@example.org',
  name: 'Ann',
  agent: 'helper@agents.example',
  cc: [{ name: 'Bob', address: 'Bob@example.org' }],
  reply_to_id: 'm2@example.org',
  reply_to_references: ['m0@example.org', 'm1@example.org'],
  reply_to_subject: 'AW: Re: The plan',
  reply_to_key: threadKey,
  reply_to_quote: { author: 'Ann', date: '2026-11-17T11:00:00.000Z', text: 'What is the plan?\n> older' },
  reply_to_hop: 0,
}

export function replyOf(content: string, more: Partial<NormalizedResponse> = {}): NormalizedResponse {
  const parts: NormalizedResponse['parts'] = [{ kind: 'text', mime: 'text/markdown', content }]
  return { thread_id: 'email:t1', in_reply_to: 'm2', agent: 'helper', parts, status: 'completed', ...more }
}

export function question(code = '3f2a91', expires_at: string | null = '2026-11-17T12:30:00.000Z') {
  const message = `I need an approval before I do this: pay 12 EUR\nReply /approve ${code} or /reject ${code}.`
  const facts = { action_id: `action-${code}`, code, summary: 'pay 12 EUR <b>now</b>', expires_at }
  return {
    kind: 'policy' as const,
    policy: { kind: 'approval_required', message, ...facts, choices: ['approve', 'reject'] },
  }
}

export function storedFile(id: string, name: string, mime: string, size: number) {
  const attachment = { id, bucket: 'files', path: `x/${id}` }
  return {
    kind: 'file' as const,
    bytes_ref: { kind: 'url' as const, url: 'https://x.example/' },
    name,
    mime,
    size,
    attachment,
  }
}

/** Files of so many bytes each; `link` where they are too large. */
export function filesOf(sizes: Readonly<Record<string, number>>): FileSource {
  return {
    async open(id) {
      const size = sizes[id]
      if (size === undefined) return undefined
      const body = new ReadableStream<Uint8Array>({
        start(controller) {
          controller.enqueue(new Uint8Array(size).fill(7))
          controller.close()
        },
      })
      return { body, size, mimeType: 'application/octet-stream', name: id }
    },
    link: async (id) => ({ url: `https://gw.example/storage/${id}?token=t`, expiresAt: '2026-11-24T12:00:00.000Z' }),
  }
}

export function mailSettings(more: Partial<DeliverySettings> = {}): DeliverySettings {
  return { domain: 'agents.example', maxMailBytes: 10_000_000, callTimeoutMs: 5000, ...more }
}

export function mailDeps(more: Partial<DeliveryDeps> = {}): DeliveryDeps {
  return {
    connection: { tenant: 'default', id: 'default', agent: 'helper', domain: 'agents.example' },
    hmac: createWebHmac(),
    now: () => now,
    say: emailSay,
    ttlStore: memoryNotes(() => now),
    publicUrl: 'https://gw.example',
    secret: async () => 'a-secret-of-this-test',
    tokens: async () => ({ mint: async (key) => `${key}${'m'.repeat(16)}` }),
    ...more,
  }
}

export function attemptOf(more: Partial<Attempt> = {}): Attempt {
  return {
    outboxId: 'o1',
    runId: 'r1',
    number: 1,
    clientId: 'turn-1:0',
    isMaybeRepeat: false,
    signal: AbortSignal.timeout(10_000),
    ...more,
  }
}
