// A chain of agents goes with what a run leaves for later: a timer does not make it shorter (CH-06).
import { afterEach, expect, test } from 'vitest'
import type { NextHop } from '../../src/agents/context.ts'
import { defineAgent } from '../../src/agents/define-agent.ts'
import { type Api, hopHeaders, startApi } from '../doubles/api.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

describeOnDatabase('a run that was scheduled by a chained one', (database) => {
  let api: Api
  afterEach(() => api.stop())

  test.each([
    ['stands where that one stood', { 'x-agents-api-chain-depth': '2' }, '3'],
    ['may ask nobody where that one might not', { 'x-agents-api-chain-depth': '4' }, 'gw:hop_limit'],
  ])('%s, and reads what it left for itself alone', async (_name, headers, expected) => {
    const woken: { next: NextHop; payload: unknown }[] = []
    const agent = defineAgent({
      slug: 'demo',
      run(_message, { schedule }) {
        schedule('later', 1, { note: 1 })
        return 'soon'
      },
      async onSignal({ payload }, { remoteCaller }) {
        woken.push({ next: await remoteCaller.next(), payload })
        return undefined
      },
    })
    api = startApi(database(), [agent])
    expect((await api.run('r1', { isHere: true, headers: hopHeaders(headers) })).status).toBe(200)
    await expect.poll(() => woken.length, { timeout: 10_000 }).toBe(1)
    const [{ next, payload } = expect.unreachable()] = woken
    expect(next.ok ? next.headers['x-agents-api-chain-depth'] : next.code).toBe(expected)
    if (next.ok) expect(next.headers['x-agents-api-chain-root']).toBe('root-1')
    expect(payload).toEqual({ note: 1 })
  })
})
