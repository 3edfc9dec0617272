// Several models: which one answers, which one is left alone, and what is said of it.
import { expect, test } from 'vitest'
import {
  addRetries,
  createModelBreaker,
  createModelWithFallbacks,
  type ModelSwitch,
} from '../../../../src/agents/models/failover.ts'
import type { Model, ModelRequest } from '../../../../src/agents/models/model.ts'

// A whole request is of no concern here.
const request = { signal: new AbortController().signal } as ModelRequest
const callError = (statusCode: number, responseBody = '', responseHeaders = {}) =>
  Object.assign(new Error('call'), { name: 'AI_APICallError', statusCode, responseBody, responseHeaders })

const scene = (fail: () => unknown) => {
  let now = 0
  const pass = (ms: number): void => {
    now += ms
  }
  const asked: string[] = []
  const switches: ModelSwitch[] = []
  const breaker = createModelBreaker(() => now)
  const patient = (model: Model, hasFallback: boolean) => addRetries(model, { sleep: async () => {}, hasFallback })
  const first = patient(async () => {
    asked.push('first')
    const error = fail()
    if (error !== undefined) throw error
    return { content: 'one' }
  }, true)
  const second = patient(async () => {
    asked.push('second')
    return { content: 'two' }
  }, false)
  const models = [
    { name: 'a/first', model: first },
    { name: 'b/second', model: second },
  ]
  const model = createModelWithFallbacks(models, breaker, (change) => void switches.push(change))
  return { model, asked, switches, pass }
}

test.each([
  ['5xx', () => callError(503), 3, 'provider_error'],
  ['a refused connection', () => new TypeError('fetch failed'), 3, 'network'],
  ['silence', () => new DOMException('silent', 'TimeoutError'), 1, 'timeout'],
  ['being asked to wait for long', () => callError(429, '', { 'retry-after': '120' }), 1, 'rate_limit'],
  ['a refused key', () => callError(401), 1, 'authentication'],
  ['a quota that is used up', () => callError(402), 1, 'quota'],
])(
  'after %s the second model answers, and the first is left alone for a minute',
  async (_what, fail, tries, reason) => {
    const { model, asked, switches, pass } = scene(fail)
    expect(await model(request)).toMatchObject({ content: 'two', request_metadata: { answered_by: 'b/second' } })
    expect(asked).toEqual([...Array.from({ length: tries }, () => 'first'), 'second'])
    expect(switches).toEqual([{ from: 'a/first', to: 'b/second', reason }])
    asked.length = 0
    pass(59_000)
    await model(request)
    expect(asked).toEqual(['second'])
    expect(switches).toHaveLength(1)
  },
)

test.each([
  ['is wrong', 400, 'invalid_request'],
  ['is too long', 413, 'context_length'],
])('a request that %s is not tried elsewhere', async (_what, status, type) => {
  const { model, asked } = scene(() => callError(status))
  expect(await model(request)).toMatchObject({ failure: { type } })
  expect(asked).toEqual(['first'])
})

test('the first model is asked again after a minute, by one request, and answers again when it is back', async () => {
  let isAway = true
  const { model, asked, switches, pass } = scene(() => (isAway ? callError(401) : undefined))
  await model(request)
  asked.length = 0
  pass(61_000)
  await Promise.all([model(request), model(request), model(request)])
  expect(asked.filter((each) => each === 'first')).toHaveLength(1)
  isAway = false
  pass(61_000)
  expect(await model(request)).toMatchObject({ content: 'one' })
  expect(switches.map(({ reason }) => reason)).toEqual(['authentication', 'back'])
})

test('where every model is away the turn waits, also when one of them refuses the key', async () => {
  const breaker = createModelBreaker(() => 0)
  const away: Model = addRetries(() => Promise.reject(callError(503)), { sleep: async () => {} })
  const refusing: Model = addRetries(() => Promise.reject(callError(401)), {})
  const named = (model: Model, name: string) => ({ name, model })
  const model = createModelWithFallbacks([named(away, 'a'), named(refusing, 'b')], breaker, () => {})
  await expect(model(request)).rejects.toMatchObject({ code: 'provider_unavailable' })
})

test('words that were shown are not followed by those of another model in the same try', async () => {
  const cut: Model = addRetries(async ({ onDelta }) => {
    onDelta?.('Once')
    throw new TypeError('terminated')
  }, {})
  const asked: string[] = []
  const second: Model = async () => {
    asked.push('second')
    return { content: 'two' }
  }
  const models = [
    { name: 'a', model: cut },
    { name: 'b', model: second },
  ]
  const model = createModelWithFallbacks(
    models,
    createModelBreaker(() => 0),
    () => {},
  )
  await expect(model({ ...request, onDelta: () => {} })).rejects.toMatchObject({ code: 'provider_unavailable' })
  expect(asked).toEqual([])
  expect(await model({ ...request, onDelta: () => {} })).toMatchObject({ content: 'two' })
})

test('the model that is back takes over from the one that answered meanwhile, whichever that was', async () => {
  let now = 0
  let isAway = true
  const switches: ModelSwitch[] = []
  const failing = (name: string) => ({
    name,
    model: addRetries(
      async () => {
        if (isAway) throw callError(401)
        return { content: name }
      },
      { hasFallback: true },
    ),
  })
  const third = { name: 'c/third', model: addRetries(async () => ({ content: 'three' }), {}) }
  const breaker = createModelBreaker(() => now)
  const models = [failing('a/first'), failing('b/second'), third]
  const model = createModelWithFallbacks(models, breaker, (change) => void switches.push(change))
  expect(await model(request)).toMatchObject({ content: 'three' })
  isAway = false
  now = 61_000
  expect(await model(request)).toMatchObject({ content: 'a/first' })
  expect(switches.at(-1)).toEqual({ from: 'c/third', to: 'a/first', reason: 'back' })
})
