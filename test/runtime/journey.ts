// One journey for every runtime: Telegram updates over HTTP to the gateway, its answers at the Bot API.
// Knows nothing of the runtime it runs in; a harness says how the gateway is reached and what the Bot API got.
import { expect, test } from 'vitest'
import { webhookSecret } from './worker-settings.ts'

export type JourneyHarness = {
  readonly fetch: (
    path: string,
    init?: { method: string; headers: Record<string, string>; body: string },
  ) => Promise<Response>
  /** Texts in one chat so far, in the order they were sent. */
  readonly sentTo: (chat: number) => Promise<readonly string[]>
}

let lastId = 0

/** Chats differ between runs and tests, so that nobody reads another's answers. */
export function newChat(): number {
  lastId += 1
  return 1_000_000 * (1 + Math.floor(Math.random() * 1_000_000)) + lastId
}

export function textUpdate(chat: number, id: number, text: string): Record<string, unknown> {
  return { update_id: chat + id, message: messageOf(chat, id, text) }
}

function messageOf(chat: number, id: number, text: string): Record<string, unknown> {
  return {
    message_id: id,
    date: Math.floor(Date.now() / 1000),
    chat: { id: chat, type: 'private', first_name: 'Ada' },
    from: { id: chat, is_bot: false, first_name: 'Ada' },
    text,
  }
}

export function webhook(update: unknown, secret = webhookSecret) {
  const headers = { 'content-type': 'application/json', 'x-telegram-bot-api-secret-token': secret }
  return { method: 'POST', headers, body: JSON.stringify(update) }
}

/** Waits, bounded, for a chat to have this many messages. */
export async function untilSent(harness: JourneyHarness, chat: number, count: number): Promise<readonly string[]> {
  for (let tries = 0; tries < 1_000; tries += 1) {
    const texts = await harness.sentTo(chat)
    if (texts.length >= count) return texts
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`chat has ${(await harness.sentTo(chat)).length} of ${count} messages`)
}

export function declareJourney(harness: JourneyHarness): void {
  const post = (update: unknown, secret?: string) => harness.fetch('/hooks/telegram/default', webhook(update, secret))
  const outcomes = async (response: Response) => ((await response.json()) as { outcomes: string[] }).outcomes

  test('the gateway answers a signed update in its chat, once, however often it is delivered', async () => {
    const chat = newChat()
    const update = textUpdate(chat, 1, 'hello')
    expect(await outcomes(await post(update))).toEqual(['accepted'])
    const again = await Promise.all(Array.from({ length: 5 }, () => post(update)))
    expect(await Promise.all(again.map(outcomes))).toEqual(Array(5).fill(['duplicate']))
    expect(await untilSent(harness, chat, 1)).toEqual([expect.stringContaining('You said: hello')])
    expect(await outcomes(await post(update))).toEqual(['duplicate'])
    expect(await harness.sentTo(chat)).toHaveLength(1)
    // The first request has the Worker compiled, which takes a minute on a busy machine.
  }, 180_000)

  test('the gateway refuses an update with a wrong secret, and stores nothing of it', async () => {
    const chat = newChat()
    const forged = await post(textUpdate(chat, 1, 'let me in'), 'not-the-secret-of-this-connection-0000')
    expect(forged.status).toBe(401)
    expect(await outcomes(await post(textUpdate(chat, 1, 'let me in')))).toEqual(['accepted'])
    expect(await untilSent(harness, chat, 1)).toHaveLength(1)
  })

  test('the gateway keeps the order of a conversation', async () => {
    const chat = newChat()
    for (const [index, word] of ['alpha', 'beta', 'gamma'].entries())
      expect((await post(textUpdate(chat, index + 1, word))).status).toBe(200)
    let heard = ''
    for (let tries = 0; tries < 600 && !heard.includes('gamma'); tries += 1) {
      heard = (await harness.sentTo(chat)).join('\n')
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    expect(heard.match(/alpha|beta|gamma/g)).toEqual(['alpha', 'beta', 'gamma'])
  })

  test('records an edit of what was answered, and answers nothing to it', async () => {
    const chat = newChat()
    await post(textUpdate(chat, 1, 'helo'))
    await untilSent(harness, chat, 1)
    const edited = { ...messageOf(chat, 1, 'hello'), edit_date: Math.floor(Date.now() / 1000) }
    expect(await outcomes(await post({ update_id: chat + 2, edited_message: edited }))).toEqual(['accepted'])
    await post(textUpdate(chat, 3, 'after the edit'))
    const texts = await untilSent(harness, chat, 2)
    expect(texts).toEqual([expect.stringContaining('helo'), expect.stringContaining('after the edit')])
  })

  test('apologises once for an agent that keeps failing, and goes on', async () => {
    const chat = newChat()
    await post(textUpdate(chat, 1, '/fail'))
    expect(await untilSent(harness, chat, 1)).toEqual([expect.stringContaining('ref ')])
    await post(textUpdate(chat, 2, 'still there?'))
    expect(await untilSent(harness, chat, 2)).toEqual([expect.anything(), expect.stringContaining('still there?')])
  })

  test('wakes a conversation when its timer is due', async () => {
    const chat = newChat()
    await post(textUpdate(chat, 1, '/remind 1 tea'))
    const texts = await untilSent(harness, chat, 2)
    expect(texts).toEqual(['I will remind you in 1 s.', 'Reminder: tea'])
  })

  test('the gateway answers an unknown connection, a body that is no JSON, and health, each in its own way', async () => {
    expect((await harness.fetch('/hooks/telegram/nobody', webhook({}))).status).toBe(404)
    const broken = await harness.fetch('/hooks/telegram/default', { ...webhook({}), body: '{"update_id": 1,' })
    expect([broken.status, await broken.json()]).toEqual([200, expect.objectContaining({ reason: 'invalid_json' })])
    expect((await harness.fetch('/healthz')).status).toBe(200)
    expect((await harness.fetch('/readyz')).status).toBe(200)
  })
}
