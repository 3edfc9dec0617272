// What a message answers, as a turn is shown it: within its bounds, once, and never a reason to fail.
import { expect, test } from 'vitest'
import type { AgentContext } from '../../../src/agents/context.ts'
import type { Envelope } from '../../../src/contract/gateway-events.ts'
import type { AncestorMessage, AncestorsRequest } from '../../../src/contract/optional-verbs.ts'
import { type AncestorsContext, fetchAncestors } from '../../../src/turns/thread-ancestors.ts'

type Around = (asked: AncestorsRequest, signal: AbortSignal) => Promise<readonly AncestorMessage[]>

const words = (id: string, content = id): AncestorMessage => ({
  id,
  address: '@bob@example.com',
  name: 'Bob',
  parts: [{ kind: 'text', mime: 'text/plain', content }],
})

function sceneOf(around: Around, more: { readonly inReplyTo?: string; readonly signal?: AbortSignal } = {}) {
  const kept = new Map<string, unknown>()
  const step = async (name: string, work: () => unknown, options?: { readonly args?: unknown }) => {
    const key = JSON.stringify([name, options?.args])
    if (!kept.has(key)) kept.set(key, JSON.parse(JSON.stringify(await work())))
    return kept.get(key)
  }
  const { inReplyTo = 'above', signal = AbortSignal.timeout(60_000) } = more
  const message = {
    id: 'm',
    received_at: '2026-01-01T00:00:00Z',
    ...(inReplyTo === '' ? {} : { in_reply_to: inReplyTo }),
  }
  // Only what is read of a turn.
  const ready = {
    at: { adapter: { fetchAncestors: around } },
    lane: { agent: 'demo' },
    members: [{ row: { id: 'r' }, message }],
  }
  return { ready, step: step as AgentContext['step'], signal } as unknown as AncestorsContext
}

const line = (id: string): Envelope => ({ metadata: { message_id: id } }) as unknown as Envelope

test('the ancestors of a post are three at most, the nearest, and so much of each', async () => {
  const given = ['1', '2', '3', '4'].map((id) => words(id, id.repeat(5000)))
  const shown = await fetchAncestors(
    sceneOf(async () => given),
    [],
  )
  expect(shown.map(({ content }) => content)).toEqual(['2', '3', '4'].map((id) => `${id.repeat(4000)} […]`))
  expect(shown[0]).toMatchObject({
    role: 'user',
    metadata: { ambient: true, message_id: '2', sender: { address: '@bob@example.com', verified: false } },
  })
})

test('the ancestors of a post are asked for once, with what is there already', async () => {
  const asked: AncestorsRequest[] = []
  const scene = sceneOf(async (request) => {
    asked.push(request)
    return [words('above')]
  })
  const [first, again] = [await fetchAncestors(scene, [line('a')]), await fetchAncestors(scene, [line('a')])]
  expect(again).toEqual(first)
  expect(asked).toMatchObject([{ agent: 'demo', message: { id: 'm', in_reply_to: 'above' }, knownIds: new Set(['a']) }])
})

test('the ancestors of a post are none where the channel fails, and where the message answers nothing', async () => {
  const failing = async () => Promise.reject(new Error('no'))
  expect(await fetchAncestors(sceneOf(failing), [])).toEqual([])
  expect(
    await fetchAncestors(
      sceneOf(async () => [words('x')], { inReplyTo: '' }),
      [],
    ),
  ).toEqual([])
})

test('fetching ancestors ends with the turn, and is then not remembered as none', async () => {
  const scene = sceneOf(() => new Promise(() => {}), { signal: AbortSignal.timeout(20) })
  await expect(fetchAncestors(scene, [])).rejects.toThrow()
})
