// The adapter kit for whom a reply goes to and where agents are found. Where there is no such verb there is nothing to keep.
import { expect } from 'vitest'
import { isOrderKey } from '../../src/contract/index.ts'
import { agentJrd } from '../../src/identity/discovery/jrd.ts'
import { replySaying } from './adapter-contract-outbound.ts'
import { type AdapterFixtures, adapterFor, type DeclareClause } from './adapter-fixtures.ts'

const strangers = ['', 'nobody', '../demo', 'de mo', 'demo\u0000', '%64emo', 'x'.repeat(10_000)]
const elsewhere = [
  'https://elsewhere.test/',
  'http://127.0.0.1:9/%zz',
  'https://elsewhere.test/@demo',
  'https://x.test/ap/demo',
]

export function declareRecipientClauses(fixtures: AdapterFixtures, clause: DeclareClause): void {
  clause('verb: expand keeps the answer to whoever asked, and says the same again', async () => {
    const adapter = adapterFor(fixtures)
    if (adapter.expand === undefined) return
    const calls = adapter.render(replySaying('hello'), fixtures.replyTo)
    const sent = await adapter.expand(calls, fixtures.replyTo)
    expect(sent.filter(({ primary }) => primary)).toHaveLength(calls.filter(({ primary }) => primary).length)
    expect(sent.every(({ orderKey }) => orderKey === undefined || isOrderKey(orderKey))).toBe(true)
    expect(await adapter.expand(calls, fixtures.replyTo)).toEqual(sent)
  })
  clause('verb: discovery names places of its own agents and of nobody else', async () => {
    const { discovery } = adapterFor(fixtures)
    if (discovery === undefined) return
    const { agent, domain } = fixtures.connection
    const places = await discovery.places(agent)
    if (places !== undefined && places !== 'gone') agentJrd(`@${agent}@${places.domain ?? domain}`, places)
    for (const name of strangers) expect(await discovery.places(name), name.slice(0, 20)).toBeUndefined()
    for (const url of elsewhere) expect(discovery.agentAt?.(new URL(url)), url).toBeUndefined()
  })
}
