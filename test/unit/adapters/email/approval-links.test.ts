// A decision link from the mail to the decision: who may look, who decides, how often, and what the pages say.

import { beforeEach, describe, expect, test } from 'vitest'
import { createDecisionLinks } from '../../../../adapters/email/approval-links/links.ts'
import { createDecisionLinkHandler, decisionEndpoints } from '../../../../adapters/email/approval-links/serve.ts'
import { renderMailReply } from '../../../../adapters/email/render/reply.ts'
import type { InboundMessage, ServeContext } from '../../../../src/contract/index.ts'
import type { AcceptResult } from '../../../../src/contract/results.ts'
import { idleDoor } from '../../../../src/testing/serve-context.ts'
import * as out from '../../../doubles/mailer-deps.ts'
import { type MemoryNotes, memoryNotes } from '../../../doubles/memory-ttl-store.ts'
import { emailSay } from '../../../doubles/say.ts'

let clock = out.now
let notes: MemoryNotes
let taken: InboundMessage[]
let door: ServeContext
let url: string

beforeEach(async () => {
  clock = out.now
  notes = memoryNotes(() => clock)
  taken = []
  door = {
    ...idleDoor,
    async accept(messages): Promise<readonly AcceptResult[]> {
      return messages.map((each) => {
        const isKnown = taken.some(({ semanticId }) => semanticId === each.semanticId)
        if (!isKnown) taken.push(each)
        return isKnown ? { kind: 'duplicate', inboxId: 'i1' } : { kind: 'accepted', inboxId: 'i1', flagged: false }
      })
    },
  }
  const [link] = await createDecisionLinks(questionCall(), out.attemptOf(), deps())
  url = link?.url ?? expect.unreachable('there is no link')
})

function questionCall(expires?: string | null) {
  const [only] = renderMailReply(emailSay, out.replyOf('', { parts: [out.question('3f2a91', expires)] }), out.replyTo)
  return only?.call ?? expect.unreachable('nothing was rendered')
}

const deps = () => out.mailDeps({ ttlStore: notes, now: () => clock })
const serve = (request: Request) => createDecisionLinkHandler({ ...deps(), ttlStore: notes })(request, door)

async function get(at = url, method = 'GET') {
  const response = await serve(new Request(at, { method }))
  return response ?? expect.unreachable('nothing is there')
}

async function press(decision: string, { at = url, token = url.split('/').at(-1) ?? '', headers = {} } = {}) {
  const body = new URLSearchParams({ token, decision })
  const response = await serve(new Request(at, { method: 'POST', body, headers: { ...headers } }))
  return response ?? expect.unreachable('nothing is there')
}

test('the link is at the public address of the gateway, under a path that is served', () => {
  expect(url).toMatch(/^https:\/\/gw\.example\/email\/decide\/[a-z2-7]{40}$/)
  expect(decisionEndpoints(deps())).toEqual([{ path: '/email/decide/:token', answer: 'serve' }])
})

describe('looking', () => {
  test('shows what is asked, who decides and until when, as words', async () => {
    const page = await get()
    const html = await page.text()
    expect(page.status).toBe(200)
    expect(html).toContain('pay 12 EUR &lt;b&gt;now&lt;/b&gt;')
    expect(html).toContain('ann@example.org')
    expect(html).toContain('2026-11-17 12:30 UTC')
    expect(html.match(/<button/g)).toHaveLength(2)
  })

  test('loads nothing, is kept nowhere, is found nowhere and tells nobody', async () => {
    const { headers } = await get()
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-security-policy': expect.stringContaining("default-src 'none'"),
      'referrer-policy': 'same-origin',
      'cache-control': 'no-store',
      'x-robots-tag': expect.stringContaining('noindex'),
      'x-content-type-options': 'nosniff',
    })
    expect(await (await get()).text()).not.toMatch(/<script|https?:\/\/|<img|<link/)
  })

  test('changes nothing, however often and by whatever method', async () => {
    const before = notes.keys()
    for (const method of ['GET', 'HEAD', 'GET']) expect((await get(url, method)).status).toBe(200)
    for (const method of ['PUT', 'DELETE', 'OPTIONS']) expect((await get(url, method)).status).toBe(405)
    expect((await get(`${url}?decision=approve`)).status).toBe(200)
    expect([taken, notes.keys()]).toEqual([[], before])
  })
})

describe('pressing', () => {
  test.each(['approve', 'reject'] as const)(
    '%s is the command it stands for, from whom the mail was sent to',
    async (decision) => {
      const page = await press(decision)
      expect([page.status, await page.text()]).toEqual([
        200,
        expect.stringContaining(decision === 'approve' ? 'Approved' : 'Rejected'),
      ])
      expect(taken).toHaveLength(1)
      expect(taken[0]).toMatchObject({
        subject: 'mailto:ann@example.org',
        agent: 'helper',
        mustReplyIndividually: 'click',
        isOnceById: true,
        thread: { candidates: [`t:${out.threadKey}`], platformVerified: true },
        replyTo: { ...out.replyTo, reply_to_quote: null },
        message: {
          thread_id: 'email:t1',
          channel: { command: { name: decision, args: '3f2a91' } },
          sender: {
            verified: true,
            auth_method: 'email-link',
            identities: [
              { subject: 'mailto:ann@example.org', method: 'urn:gw:auth:email-link:v0.1', assurance: 'domain' },
            ],
          },
        },
      })
    },
  )

  test('counts once: the second press says what was decided', async () => {
    await press('approve')
    const again = await press('reject')
    expect([again.status, await again.text()]).toEqual([410, expect.stringContaining('This was approved already')])
    expect((await get()).status).toBe(410)
    expect(taken).toHaveLength(1)
  })

  test('after a crash between storing and noting, nothing else can be decided', async () => {
    const crashing = { ...notes, keep: () => Promise.reject(new Error('gone')) }
    const body = new URLSearchParams({ token: url.split('/').at(-1) ?? '', decision: 'approve' })
    const first = createDecisionLinkHandler({ ...deps(), ttlStore: crashing })(
      new Request(url, { method: 'POST', body }),
      door,
    )
    await expect(first).rejects.toThrow('gone')
    const again = await press('reject')
    expect([again.status, await again.text()]).toEqual([410, expect.stringContaining('This was decided already')])
    expect(taken.map(({ message }) => message.channel?.command?.name)).toEqual(['approve'])
  })

  test('too late decides nothing', async () => {
    clock = Date.parse('2026-11-17T12:30:00.000Z')
    const page = await press('approve')
    expect([page.status, await page.text()]).toEqual([410, expect.stringContaining('This question is over')])
    expect(taken).toEqual([])
  })

  test('a question without an end stays open', async () => {
    const [link] = await createDecisionLinks(questionCall(null), out.attemptOf({ clientId: 'turn-2:0' }), deps())
    clock += 29 * 24 * 60 * 60 * 1000
    expect(await (await get(link?.url)).text()).toContain('it is decided')
  })

  test.each([
    ['another token in the form', { token: 'a'.repeat(40) }, 400],
    ['a form of another kind', { headers: { 'content-type': 'text/plain' } }, 400],
  ])('%s decides nothing', async (_, how, status) => {
    expect((await press('approve', how)).status).toBe(status)
    expect(taken).toEqual([])
  })

  test.each(['', 'maybe', 'x'.repeat(10_000)])('another word decides nothing', async (decision) => {
    expect((await press(decision)).status).toBe(400)
    expect(taken).toEqual([])
  })

  test('a decision that is not taken in says so, and the link stays', async () => {
    door = { ...door, accept: async () => [{ kind: 'refused', reason: 'closed' }] }
    expect((await press('approve')).status).toBe(409)
    expect((await get()).status).toBe(200)
  })
})

test.each(['/', '/x', `/${'a'.repeat(40)}`, '/../../admin', `/${'%00'.repeat(10)}`])(
  '%s is a link that nobody knows',
  async (path) => {
    const at = `https://gw.example/email/decide${path}`
    const response = await serve(new Request(at))
    expect(response?.status ?? 404).toBe(404)
  },
)

test('what is kept gives no link away', () => {
  expect(notes.keys().join()).not.toContain(url.split('/').at(-1) ?? '')
})

test('X-003: where nobody could follow it, or nothing keeps it, there is no link', async () => {
  const { publicUrl: _none, ...hidden } = deps()
  expect(await createDecisionLinks(questionCall(), out.attemptOf(), hidden)).toEqual([])
})
