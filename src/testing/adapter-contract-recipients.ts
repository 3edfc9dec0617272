// The adapter kit for whom a reply goes to, where agents are found, and what an operator may ask. Where there is no such verb there is nothing to keep.

import { isOrderKey } from '../contract/index.ts'
import { areRecordChangesStorable } from '../db/records.ts'
import { agentJrd } from '../identity/webfinger.ts'
import { isGatewayError } from '../lib/errors.ts'
import type { JsonObject } from '../lib/json-value.ts'
import { createTextReply } from './adapter-contract-outbound.ts'
import { type AdapterFixtures, createAdapterFromFixtures, type DeclareClause } from './adapter-fixtures.ts'
import { expect } from './expect.ts'

const strangers = ['', 'nobody', '../demo', 'de mo', 'demo\u0000', '%64emo', 'x'.repeat(10_000)]
const elsewhere = [
  'https://elsewhere.test/',
  'http://127.0.0.1:9/%zz',
  'https://elsewhere.test/@demo',
  'https://x.test/ap/demo',
]

/** Under the names that operations ask for, and one that none does. */
const fieldNames = 'id actor agent owner host hosts text reason after limit nonsense'.split(' ')
const nonsense = [null, 7, '', 'nobody', 'demo\u0000', 'https://elsewhere.test/%zz', 'x'.repeat(10_000), [], {}]
const inputs: readonly JsonObject[] = [
  {},
  ...nonsense.map((value): JsonObject => Object.fromEntries(fieldNames.map((name) => [name, value]))),
]

export function declareRecipientClauses(fixtures: AdapterFixtures, clause: DeclareClause): void {
  clause('verb: expand keeps the answer to its requester, and says the same again', async () => {
    const adapter = createAdapterFromFixtures(fixtures)
    if (adapter.expand === undefined) return
    const calls = adapter.render(createTextReply('hello'), fixtures.replyTo)
    const sent = await adapter.expand(calls, fixtures.replyTo)
    expect(sent.filter(({ primary }) => primary)).toHaveLength(calls.filter(({ primary }) => primary).length)
    expect(sent.every(({ orderKey }) => orderKey === undefined || isOrderKey(orderKey))).toBe(true)
    expect(await adapter.expand(calls, fixtures.replyTo)).toEqual(sent)
  })
  clause('verb: webfinger names URLs of its own agents and of no others', async () => {
    const { webfinger: discovery } = createAdapterFromFixtures(fixtures)
    if (discovery === undefined) return
    const { agent, domain } = fixtures.connection
    const places = await discovery.urls(agent)
    if (places !== undefined && places !== 'gone') agentJrd(`@${agent}@${places.domain ?? domain}`, places)
    for (const name of strangers) expect(await discovery.urls(name), name.slice(0, 20)).toBeUndefined()
    for (const url of elsewhere) expect(discovery.agentAt?.(new URL(url)), url).toBeUndefined()
  })
  clause('verb: admin takes or refuses whatever is asked, with what to do', async () => {
    const { admin: operations = {} } = createAdapterFromFixtures(fixtures)
    const facts = { connection: fixtures.connection, at: new Date(fixtures.now).toISOString() }
    for (const [name, operation] of Object.entries(operations)) {
      expect(name).toMatch(/^[a-z]+(\.[a-z]+)*$/)
      for (const input of inputs) {
        const done = await operation(input, facts).catch((error: unknown) => error)
        if (isGatewayError(done)) expect(['bad_request', 'not_found', 'conflict'], name).toContain(done.code)
        else
          expect(areRecordChangesStorable((done as Awaited<ReturnType<typeof operation>>).change ?? {}), name).toBe(
            true,
          )
      }
    }
  })
}
