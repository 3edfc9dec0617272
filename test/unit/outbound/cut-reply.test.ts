// However long a reply is, it becomes no more messages than its channel has for one, and says where the rest is.

import { expect, test } from 'vitest'
import { renderSlack } from '../../../adapters/slack/render/reply.ts'
import { renderTelegramWithFiles } from '../../../adapters/telegram/render/files.ts'
import type { Adapter, NormalizedResponse, RenderedCall } from '../../../src/contract/index.ts'
import { textPart } from '../../../src/contract/index.ts'
import { renderCalls, type WholeReply } from '../../../src/outbound/render.ts'
import { slackSay, telegramSay } from '../../doubles/say.ts'

const digest = 'a'.repeat(64)
const bytes_ref = { kind: 'content_addressed', algo: 'sha256', digest } as const
const attachment = { id: '7b0c2f6e-8a1d-4c55-9d1e-2f3a4b5c6d7e', bucket: 'agent-files', path: 'a/b' }
const file: WholeReply = {
  file: { kind: 'file', bytes_ref, attachment, mime: 'text/markdown', name: 'answer.md', size: 200_000 },
}
const link: WholeReply = { url: `https://parley.example/storage/v1/object/sign/a/b?token=${'t'.repeat(500)}` }

const replyOf = (text: string): NormalizedResponse => ({
  thread_id: 't',
  in_reply_to: 'm',
  agent: 'demo',
  status: 'completed',
  parts: [textPart(text, 'text/markdown')],
})

type Render = (reply: NormalizedResponse) => readonly RenderedCall[]
const slack: Render = (reply) => {
  const facts = { names: new Map(), say: slackSay, sendsFiles: true, broadcasts: new Set<string>() }
  return renderSlack(facts, reply, { account: 'T1', channel: 'C1' }, { mayNotify: new Set(), hasLive: false })
}
const telegram: Render = (reply) => renderTelegramWithFiles(telegramSay, reply, { chat_id: '5' }, new Set(), false)
const plain = 'Words that go on and on, line after line.\n\n'.repeat(4700)
const oneLine = 'x'.repeat(200_000)
const code = `Look:\n\n\`\`\`ts\n${'const a = 1\n'.repeat(17_000)}\`\`\`\n`

const sent = async (render: Render, maxParts: number, whole: WholeReply | undefined, text: string) => {
  // Only these are asked of it here.
  const adapter = { channel: 'test', capabilities: { maxParts }, render } as unknown as Adapter
  return renderCalls(
    {
      adapter,
      newId: () => crypto.randomUUID(),
      origin: 'turn',
      orderKey: 'c',
      to: {},
      keepWhole: async (kept) => (kept === text ? whole : undefined),
    },
    [{ reply: replyOf(text), purpose: 'reply' }],
  )
}

test.each([
  ['Slack', slack],
  ['Telegram', telegram],
] as const)(
  '%s gets ten messages at most, the last ones being what was left out and the file',
  async (_name, render) => {
    for (const text of [plain, oneLine, code]) {
      const calls = await sent(render, 10, file, text)
      expect(calls.length).toBeLessThanOrEqual(10)
      expect(calls.length).toBeGreaterThan(6)
      expect(JSON.stringify(calls.at(-1))).toContain(attachment.id)
      expect(JSON.stringify(calls.at(-2))).toContain('All of it is in the file that comes with it.')
    }
  },
)

test('without a place for files the words say that the rest is missing; a link stands in the last message', async () => {
  const lost = await sent(telegram, 3, undefined, plain)
  expect(lost).toHaveLength(3)
  expect(JSON.stringify(lost.at(-1))).toContain('the rest was left out')
  expect(JSON.stringify((await sent(telegram, 3, link, plain)).at(-1))).toContain('token=ttt')
})

test('what fits is sent as it is', async () => {
  expect(await sent(slack, 10, file, 'short')).toHaveLength(1)
  expect(JSON.stringify(await sent(slack, 10, file, 'short'))).not.toContain('longer than')
})
