// Which calls of a reply ask for a decision, as real channels render them, and what is left of each once it is decided.

import { expect, test } from 'vitest'
import { renderSlack } from '../../../adapters/slack/render/reply.ts'
import { renderTelegram } from '../../../adapters/telegram/render/render.ts'
import { questionPart, questionText, removeQuestions } from '../../../src/agents/approvals/approval-messages.ts'
import { readPendingAction } from '../../../src/agents/approvals/pending-action.ts'
import { type NormalizedResponse, type Part, type RenderedCall, textPart } from '../../../src/contract/index.ts'
import { addQuestionsToCalls } from '../../../src/outbound/render.ts'
import { slackSay, telegramSay } from '../../doubles/say.ts'

const action = readPendingAction({
  action_id: '0199a3b0-0000-7000-8000-0000003f2a91',
  kind: 'tool_call',
  summary: 'pay 12 EUR',
  preview: { amount: 12 },
  apply_input: { amount: 12 },
  created_at: '2026-03-01T12:00:00.000Z',
  expires_at: '2026-03-01T12:30:00.000Z',
})
const saying = (...parts: readonly Part[]): NormalizedResponse => ({
  thread_id: 't',
  in_reply_to: 'm',
  agent: 'demo',
  status: 'input_required',
  parts: [...parts],
})
const marked = (reply: NormalizedResponse, render: (reply: NormalizedResponse) => readonly RenderedCall[]) => {
  const unasked = removeQuestions(reply, [action])
  if (unasked === undefined) return render(reply)
  return addQuestionsToCalls(render(reply), unasked.reply.parts.length === 0 ? [] : render(unasked.reply), {
    asks: unasked.asks,
    editing: 'lines',
  })
}
const slack = (reply: NormalizedResponse) =>
  renderSlack(
    { names: new Map(), say: slackSay, sendsFiles: true, broadcasts: new Set() },
    reply,
    { account: 'T1', channel: 'C1', thread_ts: '1.1' },
    { mayNotify: new Set(), hasLive: false },
  )
const telegram = (reply: NormalizedResponse) => renderTelegram(telegramSay, reply, { chat_id: '7' })
const said = 'I looked at the bill.'
const words = textPart(said, 'text/markdown')
const file: Part = {
  kind: 'file',
  mime: 'text/plain',
  name: 'bill.txt',
  bytes_ref: { kind: 'url', url: 'https://files.example/bill.txt' },
  attachment: { id: '0199a3b0-0000-7000-8000-000000000001', bucket: 'files', path: 'bill.txt' },
}

test('on Slack the card asks and nothing else does: words before it and files after it are sent whatever is decided', () => {
  const calls = marked(saying(words, questionPart(action), file), slack)
  expect(calls.map(({ question }) => question)).toEqual([
    undefined,
    { asks: [action.action_id], otherwise: null, isEditable: true },
    undefined,
  ])
})

test('on Telegram the words are sent whatever is decided, and the question is a message of its own with buttons', () => {
  const [first, question, ...more] = marked(saying(words, questionPart(action)), telegram)
  expect(more).toEqual([])
  expect(first).toMatchObject({ call: { payload: { text: said } } })
  expect(first?.question).toBeUndefined()
  expect(JSON.stringify(question?.call)).toContain('reply_markup')
  expect(question?.question).toEqual({ asks: [action.action_id], otherwise: null, isEditable: true })
})

test.each([
  ['a part of policy', questionPart(action)],
  ['words of a function agent', textPart(questionText(action))],
])('a reply that only asks says nothing once it is decided: %s', (_how, part) => {
  for (const render of [slack, telegram])
    expect(marked(saying(part), render).map(({ question }) => question)).toEqual([
      { asks: [action.action_id], otherwise: null, isEditable: true },
    ])
})

test.each(['lines', 'whole'] as const)('a question among words is edited only where lines can be: %s', (editing) => {
  const reply = saying(textPart(`${said}\n\n${questionText(action)}`))
  const unasked = removeQuestions(reply, [action])?.reply ?? reply
  const [call] = addQuestionsToCalls(slack(reply), slack(unasked), { asks: [action.action_id], editing })
  expect(call?.question).toEqual({
    asks: [action.action_id],
    otherwise: slack(unasked)[0]?.call,
    isEditable: editing === 'lines',
  })
})

test('words of a function agent around its question stay', () => {
  const unasked = removeQuestions(saying(textPart(`First.\n\n${questionText(action)}\n\nLast.`)), [action])
  expect(unasked?.reply).toMatchObject({
    status: 'completed',
    parts: [{ content: expect.stringMatching(/^First\.\s+Last\.$/) }],
  })
})

test('a reply that asks nothing of these actions is left alone', () => {
  expect(removeQuestions(saying(words), [action])).toBeUndefined()
  expect(removeQuestions(saying(questionPart(action)), [])).toBeUndefined()
})
