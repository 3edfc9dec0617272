// Between a run and its model: names go out with their mark, and the mark does not come back, in one piece or in several.
import { expect, test } from 'vitest'
import { textEnvelope } from '../../../../src/agents/messages.ts'
import type { Model, ModelRequest } from '../../../../src/agents/models/model.ts'
import { wrapModelWithSpeakerNames } from '../../../../src/agents/models/speaker-names.ts'

const mark = '0f1e2d3c4b5a69788796'
const lines = [textEnvelope('user', 'hi', { sender: { address: '@ada@example.com', display_name: 'Ada' } })]

async function ask(model: Model, isRoom = true): Promise<{ shown: string; turn: unknown; asked: number }> {
  let shown = ''
  let asked = 0
  const onDelta = (delta: string): void => {
    shown += delta
  }
  const request = { messages: lines, onDelta } as unknown as ModelRequest
  const read = async () => {
    asked += 1
    return mark
  }
  const turn = await wrapModelWithSpeakerNames(model, { isRoom, mark: read })(request)
  return { shown, turn, asked }
}

test('the run keeps its own lines; the provider is given the names and how to read them', async () => {
  let given: ModelRequest | undefined
  await ask(async (request) => {
    given = request
    return { content: 'ok' }
  })
  expect(given?.messages[0]?.content).toBe(`[${mark} from "Ada" <@ada@example.com>]\nhi`)
  expect(given?.system).toContain(mark)
  expect(lines[0]?.content).toBe('hi')
})

test('with one person to talk to there is neither name nor mark', async () => {
  const { asked } = await ask(async ({ messages, system }) => {
    expect([messages, system]).toEqual([lines, undefined])
    return { content: 'ok' }
  }, false)
  expect(asked).toBe(0)
})

test.each([1, 3, 7, 19, 20, 100])('a mark that a model repeats in pieces of %i is never shown', async (size) => {
  const said = `It is ${mark}, or ${mark.toUpperCase()}; not ${mark.slice(0, 12)} and ${mark.slice(0, 3)}`
  const { shown, turn } = await ask(async ({ onDelta }) => {
    for (let at = 0; at < said.length; at += size) onDelta?.(said.slice(at, at + size))
    return { content: said, tool_calls: [{ name: 'note', id: 'c1', parameters: { text: mark } }] }
  })
  const clean = `It is [removed], or [removed]; not ${mark.slice(0, 12)} and ${mark.slice(0, 3)}`
  expect(shown).toBe(clean)
  expect(turn).toEqual({ content: clean, tool_calls: [{ name: 'note', id: 'c1', parameters: { text: '[removed]' } }] })
})
