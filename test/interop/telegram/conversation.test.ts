// The whole story through telegram-test-api, with the program in a process of its own: a mention in a topic, words that grow there,
// a question with buttons, a press, the tool, the last words; killed in between, limited, and with words that arrive late. The peer
// has no limits and no secret for its webhook: both are the relay's. What was said is asked of the peer itself.
import { describe, expect, inject, test } from 'vitest'
import { ending, eventually, opening, signal } from '../conversation/conversation-setup.ts'
import { atFirst, comesLate, held, isExplained, isTold } from '../conversation/meetings.ts'
import { fieldsOf, type Passing } from '../conversation/relay.ts'
import { describeBeside } from '../peer.ts'
import { openTelegramStory, type TelegramStory, telegramTestApi } from './conversation.ts'

const textOf = (call: Passing): string => String(fieldsOf(call)['text'] ?? '')
const isFrame = (call: Passing, words: string): boolean =>
  call.method === 'editMessageText' &&
  textOf(call).startsWith(words) &&
  ![opening.trim(), ending].includes(textOf(call))

/** The words that grew, what became of the question below them, and the last words. */
const whole = [opening.trim(), expect.stringContaining('pay 12 EUR'), ending]

describeBeside('a story on Telegram beside telegram-test-api', telegramTestApi, (module) => {
  const { url, reason } = inject('postgres')
  describe.skipIf(url === '').concurrent(`on PostgreSQL${url === '' ? ` (${reason})` : ''}`, () => {
    const play = (name: string, act: (story: TelegramStory) => Promise<void>) =>
      test(name, { timeout: 300_000 }, async () => {
        const story = await openTelegramStory(module(), 'server', url)
        try {
          await act(story)
        } finally {
          await story.close()
        }
      })

    play(
      'is told once by one that is killed when it has opened its message, while it waits and while it speaks, with a late edit',
      async (story) => {
        await story.begin()
        const opened = atFirst(story, (call) => isFrame(call, 'Let'))
        const asked = await story.ask()
        await opened.isMet
        await story.kill()
        expect((await story.texts()).map((text) => opening.startsWith(text))).toEqual([true])
        await story.begin()
        await eventually('the question', async () =>
          (await story.texts()).some((text) => text.includes('I need an approval')),
        )
        // It waits only when it has heard that its question arrived; one that dies before that is a story of local-slack.
        await eventually('the question to be settled', async () => {
          const { body } = await story.gateway().get('/admin/deliveries?state=queued,sending,retry&limit=10')
          return (body as { readonly deliveries: readonly unknown[] }).deliveries.length === 0
        })
        await story.kill()
        await story.begin()
        const speaks = held(story, (call) => isFrame(call, 'Paid'))
        await story.press()
        await speaks.isMet
        await story.kill()
        await story.begin()
        await comesLate(story, speaks.letGo)
        await isTold(story, whole)
        await isExplained(story, asked)
      },
    )

    play(
      'is told once, in its topic, though its edits are limited (by the relay); books and explain are whole',
      async (story) => {
        let limited = 0
        story.wantFrames(2)
        story.meet(async (call, forward) => {
          if (!isFrame(call, 'Let') || limited >= 1) return forward()
          limited += 1
          const body = {
            ok: false,
            error_code: 429,
            description: 'Too Many Requests',
            parameters: { retry_after: 1 },
          }
          return { status: 429, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
        })
        await story.begin()
        const asked = await story.ask()
        await story.press()
        await isTold(story, whole)
        expect(limited).toBe(1)
        await isExplained(story, asked)
      },
    )

    play('keeps its last words when an edit of a replica that stood still arrives after them', async (story) => {
      const first = await story.begin()
      const speaks = held(story, (call) => isFrame(call, 'Paid'))
      await story.ask()
      await story.press()
      await speaks.isMet
      signal(first, 'SIGSTOP')
      await story.begin()
      await comesLate(story, speaks.letGo)
      signal(first, 'SIGCONT')
      await isTold(story, whole)
    })

    play(
      'a message that was opened and never heard of stays as it is, shown as unknown, and the answer is said once beside it',
      async (story) => {
        await story.begin()
        const opened = atFirst(story, (call) => call.method === 'sendMessage')
        await story.ask()
        await opened.isMet
        await story.kill()
        story.wantFrames(0)
        const [left = ''] = await story.texts()
        await story.begin()
        await story.press()
        await isTold(story, [left, ...whole])
        const { body } = await story.gateway().get('/admin/deliveries?state=unknown&limit=10')
        expect(body).toMatchObject({ deliveries: [{ purpose: 'live', state: 'unknown' }] })
      },
    )
  })
})
