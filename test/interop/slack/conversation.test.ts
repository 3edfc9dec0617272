// The whole story through Vercel's emulated Slack, with the program in a process of its own: mention in a thread, words that grow
// there, a question with buttons, the tool, the last words. The same when it is killed in between, when Slack limits or loses
// calls, and when words of a process that was replaced arrive late. What was said is asked of the emulator itself.
import { describe, expect, inject, test } from 'vitest'
import { ending, eventually, opening, signal } from '../conversation/conversation-setup.ts'
import { atFirst, comesLate, held, isExplained, isTold } from '../conversation/meetings.ts'
import { fieldsOf, type Passing } from '../conversation/relay.ts'
import { describeBeside } from '../peer.ts'
import { openSlackStory, type SlackStory } from './conversation.ts'
import { emulate } from './emulator.ts'

const approved = 'Approved by ada: pay 12 EUR.'
const whole = [opening.trim(), approved, ending]

const textOf = (call: Passing): string => String(fieldsOf(call)['text'] ?? '')
const isUpdate = (call: Passing, words: string): boolean =>
  call.method === 'chat.update' && textOf(call).startsWith(words)
const isFrame = (call: Passing, words: string): boolean => isUpdate(call, words) && !whole.includes(textOf(call))

describeBeside('a story on Slack as emulated', emulate, (module) => {
  const { url, reason } = inject('postgres')
  describe.skipIf(url === '').concurrent(`on PostgreSQL${url === '' ? ` (${reason})` : ''}`, () => {
    const play = (name: string, act: (story: SlackStory) => Promise<void>) =>
      test(name, { timeout: 300_000 }, async () => {
        const story = await openSlackStory(module(), 'server', url)
        try {
          await act(story)
        } finally {
          await story.close()
        }
      })

    play(
      'is told once by one that is killed when it opens its message, while it waits and while it speaks, with a late edit',
      async (story) => {
        await story.begin()
        const opened = atFirst(story, (call) => call.method === 'chat.postMessage')
        const asked = await story.ask()
        await opened.isMet
        await story.kill()
        story.wantFrames(0)
        expect((await story.texts()).map((text) => opening.startsWith(text))).toEqual([true])
        await story.begin()
        await eventually('the question', async () => (await story.texts()).length === 2)
        await story.kill()
        await story.begin()
        story.wantFrames(1)
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
      'is told once, in its thread, though Slack limits its edits and loses an answer; books and explain are whole',
      async (story) => {
        let [limited, lost] = [0, 0]
        story.wantFrames(3)
        story.meet(async (call, forward) => {
          if (isFrame(call, 'Let') && limited < 2) {
            limited += 1
            return { status: 429, headers: { 'retry-after': '1' }, body: '' }
          }
          const answer = await forward()
          const isLost = call.method === 'chat.postMessage' && textOf(call).startsWith('I need') && lost === 0
          if (isLost) lost += 1
          return isLost ? undefined : answer
        })
        await story.begin()
        const asked = await story.ask()
        await story.press()
        await isTold(story, whole)
        expect([limited, lost]).toEqual([2, 1])
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
  })
})
